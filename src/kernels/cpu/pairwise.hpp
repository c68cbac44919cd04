// A running sum that unites its terms pairwise, as a binary counter carries: the error grows with the
// logarithm of their number, and the result depends on their order alone.
#pragma once

#include <bit>
#include <cstdint>

namespace weft::cpu {

template <class Acc>
class PairwiseSum {
 public:
  void add(Acc term) {
    const int carries = std::countr_one(count_);
    for (int level = 0; level < carries; ++level) term = waiting_[level] + term;
    waiting_[carries] = term;
    ++count_;
  }
  Acc total() const {
    if (count_ == 0) return 0;
    std::uint64_t bits = count_;
    Acc sum = waiting_[std::countr_zero(bits)];
    for (bits &= bits - 1; bits != 0; bits &= bits - 1) sum = waiting_[std::countr_zero(bits)] + sum;
    return sum;
  }

 private:
  std::uint64_t count_ = 0;
  Acc waiting_[64];
};

}  // namespace weft::cpu
