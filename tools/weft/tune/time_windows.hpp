// Times graphs of windows by the kernels that plans run: on tensor cores, and without windows.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tune/fit.hpp"
#include "weft/context.hpp"

namespace weft::tool {

struct TuneRequest {
  std::vector<Dtype> dtypes{Dtype::f16, Dtype::bf16, Dtype::f32};
  std::vector<std::int64_t> widths{32, 64, 128};
  std::vector<int> window_rows{16, 64, 128};
  int kinds = 120;  // of windows, for each number of rows
  int repeat = 9;   // timed runs of each
  std::uint64_t seed = 1;
};

/// Every kind of window in every storage type and width; one kind in five is held out. The context is a GPU's.
std::vector<TimedWindow> time_windows(Context& context, const TuneRequest& request,
                                      const std::function<void(std::int64_t done, std::int64_t total)>& progress);

}  // namespace weft::tool
