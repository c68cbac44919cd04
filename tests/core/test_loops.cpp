#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/loops/cpu.hpp"
#include "core/loops/with_storage.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

/// out = x + 1, and the sum of every column of out.
struct PlusOneArgs {
  Dtype dtype = Dtype::f32;
  std::int64_t rows = 0, width = 0;
  const void* x = nullptr;
  void* out = nullptr;
  void* sums = nullptr;
  void* scratch = nullptr;
};

template <class T, int Width>
struct PlusOneStrip : loops::StripOf<PlusOneArgs, 1, Width> {
  using Base = loops::StripOf<PlusOneArgs, 1, Width>;
  using Base::args, Base::column, Base::sum, Base::Base;
  using Row = Pack<T, Width>;
  Row load(std::int64_t row) const { return loops::pack_at<T, Width>(args.x, row * args.width + column); }
  void take(std::int64_t row, Row& loaded) {
    for (int n = 0; n < Width; ++n) {
      loaded.values[n] = narrow<T>(widen(loaded.values[n]) + 1);
      sum[0][n] += static_cast<double>(widen(loaded.values[n]));
    }
    loops::put_pack(args.out, row * args.width + column, loaded);
  }
};

template <class Loops>
void run_on(const Loops& on, const PlusOneArgs& args) {
  with_storage(on, args.dtype, [&]<class T>() {
    using Acc = AccumulatorOf<T>;
    on.template fold_columns<T, PlusOneStrip>(args, args.width, "a test", static_cast<Acc*>(args.sums),
                                              static_cast<Acc*>(nullptr));
  });
}

/// Counts visits, and who shares them.
struct VisitArgs {
  std::int64_t count = 0;
  int* visits = nullptr;
};
struct Visit {
  VisitArgs args;
  void operator()(std::int64_t i) const { ++args.visits[i]; }
  template <class Team>
  void operator()(const Team& team, std::int64_t i) const {
    args.visits[i] += static_cast<int>(team.sum(team.lanes()));
  }
};
template <class Loops>
void run_on(const Loops& on, const VisitArgs& args) {
  on.each(args.count, "a test", Visit{args});
  on.teams(args.count, 100, "a test", Visit{args});
}

TEST(passes, visit_every_item_once_by_itself_and_once_with_a_team) {
  for (const int threads : {1, 3})
    for (const std::int64_t count : {0, 1, 100, 40000}) {
      std::vector<int> visits(static_cast<std::size_t>(count));
      loops::run(loops::Cpu{threads}, VisitArgs{count, visits.data()});
      for (const int visit : visits) ASSERT_EQ(visit, 2);
    }
}

TEST(passes, add_up_columns_to_the_same_bits_for_any_number_of_threads) {
  for (const std::int64_t width : {1, 3, 4, 12, 16, 48}) {
    constexpr std::int64_t rows = 1000;
    std::vector<float> x(static_cast<std::size_t>(rows * width));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 97) * 0.1f;
    std::vector<double> expected(static_cast<std::size_t>(width));
    for (std::size_t i = 0; i < x.size(); ++i)
      expected[i % static_cast<std::size_t>(width)] += static_cast<double>(x[i] + 1);
    std::vector<float> first;
    for (const int threads : {1, 2, 5}) {
      std::vector<float> out(x.size()), sums(static_cast<std::size_t>(width));
      std::vector<std::byte> scratch(loops::fold_bytes(rows, width, 1));
      const PlusOneArgs args{Dtype::f32, rows, width, x.data(), out.data(), sums.data(), scratch.data()};
      loops::run(loops::Cpu{threads}, args);
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(out[i], x[i] + 1);
      for (std::size_t c = 0; c < sums.size(); ++c) ASSERT_NEAR(static_cast<double>(sums[c]), expected[c], 1e-2);
      if (threads == 1) first = sums;
      EXPECT_EQ(sums, first) << threads << " threads, " << width << " columns";
    }
  }
}

#ifndef WEFT_HAS_CUDA
TEST(passes, of_a_gpu_are_refused_by_a_build_without_cuda) {
  try {
    loops::run(loops::Gpu{{DeviceKind::cuda, 0}, nullptr}, VisitArgs{});
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(error.what()).find("this build of weft has no CUDA"), std::string::npos) << error.what();
  }
}
#endif

}  // namespace
}  // namespace weft
