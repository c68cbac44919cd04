// Plans that are made for another number of runs than those around them.
#pragma once

#include "weft/context.hpp"

namespace weft {

/// Plans expect so many runs while this is there.
class ExpectedRuns {
 public:
  ExpectedRuns(Context& context, std::int64_t runs) : context_(context), before_(context.expected_runs()) {
    context.expect_runs(runs);
  }
  ~ExpectedRuns() { context_.expect_runs(before_); }
  ExpectedRuns(const ExpectedRuns&) = delete;
  ExpectedRuns& operator=(const ExpectedRuns&) = delete;

 private:
  Context& context_;
  std::int64_t before_;
};

}  // namespace weft
