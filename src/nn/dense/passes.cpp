// The passes on a CPU, and the choice between it and a GPU.
#include "nn/dense/passes.hpp"

#include "nn/cuda/passes.hpp"
#include "nn/dense/cpu_loops.hpp"
#include "nn/dense/norm-inl.hpp"

namespace weft::nn {
namespace {

struct CpuBackend : CpuLoops {
  static constexpr bool has_double = true;

  /// f(chunk, begin, end) for every chunk of the rows.
  template <class F>
  void chunks(std::int64_t rows, std::int64_t width, const F& f) const {
    const std::int64_t count = chunks_of(rows);
    const bool few = rows * width < grain;
    parallel_tasks(few ? 1 : threads, count,
                   [&](std::int64_t chunk, int) { f(chunk, rows * chunk / count, rows * (chunk + 1) / count); });
  }
  /// [chunk][sum][column]. Strips of a cache line where the columns can be cut in such.
  template <class T, template <class, int> class Strip, class Args>
  double* fold(const Args& args, std::int64_t columns) const {
    if (args.width % 16 == 0) return fold_strips<Strip<T, 16>>(args, columns);
    if (args.width % 4 == 0) return fold_strips<Strip<T, 4>>(args, columns);
    return fold_strips<Strip<T, 1>>(args, columns);
  }
  template <class Strip, class Args>
  double* fold_strips(const Args& args, std::int64_t columns) const {
    auto* const partial = static_cast<double*>(args.scratch);
    chunks(args.rows, columns, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
      double* const mine = partial + chunk * Strip::sums * columns;
      for (std::int64_t column = 0; column < columns; column += Strip::width) {
        Strip strip(args, column);
        for (std::int64_t row = begin; row < end; ++row) {
          auto loaded = strip.load(row);
          strip.take(row, loaded);
        }
        for (int k = 0; k < Strip::sums; ++k) std::copy_n(strip.sum[k], Strip::width, mine + k * columns + column);
      }
    });
    return partial;
  }
  template <class T, template <class, int> class Strip, class Args, class Acc>
  void fold_columns(const Args& args, std::int64_t columns, const char*, Acc* first, Acc* second) const {
    constexpr int sums = Strip<T, 1>::sums;
    const double* const partial = fold<T, Strip>(args, columns);
    Acc* const outs[] = {first, second};
    for (int k = 0; k < sums; ++k) {
      if (outs[k] == nullptr) continue;
      for (std::int64_t column = 0; column < columns; ++column) {
        double sum = 0;
        for (std::int64_t chunk = 0; chunk < chunks_of(args.rows); ++chunk)
          sum += partial[(chunk * sums + k) * columns + column];
        outs[k][column] = static_cast<Acc>(sum);
      }
    }
  }
  template <class T, template <class, int> class Strip, class Args, class Acc>
  void fold_all(const Args& args, std::int64_t columns, const char*, Acc* out) const {
    const double* const partial = fold<T, Strip>(args, columns);
    double sum = 0;
    for (std::int64_t i = 0; i < chunks_of(args.rows) * columns; ++i) sum += partial[i];
    *out = static_cast<Acc>(sum);
  }
  template <class Body>
  void fold_splits(std::int64_t rows, std::int64_t classes, const Body& body, void* scratch, SplitSums* sums) const {
    auto* const partial = static_cast<SplitSums*>(scratch);
    chunks(rows, classes, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
      SplitSums mine[num_splits] = {};
      for (std::int64_t row = begin; row < end; ++row) {
        const SplitSums of_row = body(Solo{}, row);
        const int split = body.split_of(row);
        if (split > 0) mine[split - 1].add(of_row);
      }
      std::copy_n(mine, num_splits, partial + chunk * num_splits);
    });
    for (int s = 0; s < num_splits; ++s) {
      sums[s] = {};
      for (std::int64_t chunk = 0; chunk < chunks_of(rows); ++chunk) sums[s].add(partial[chunk * num_splits + s]);
    }
  }
  template <class Body>
  void optimise(std::int64_t count, const Body& body) const {
    if (!body.applies()) return;
    const auto common = body.common();
    each(count, "", [&](std::int64_t i) { body(i, common); });
  }
  template <class Body>
  void alone(const char*, const Body& body) const {
    body([](std::int64_t* done, std::int64_t epochs) { *done = epochs; });
  }
};

template <class Args>
void choose(const Context& context, const Args& args) {
  if (context.device().kind == DeviceKind::cuda) return cuda::run(args, context.device(), context.stream());
  run_on(CpuBackend{{context.threads()}}, args);
}

}  // namespace

void run(const Context& context, const ActivateArgs& args) { choose(context, args); }
void run(const Context& context, const ActivateBackwardArgs& args) { choose(context, args); }
void run(const Context& context, const ScaleRowsArgs& args) { choose(context, args); }
void run(const Context& context, const AddSelfArgs& args) { choose(context, args); }
void run(const Context& context, const SelfGradArgs& args) { choose(context, args); }
void run(const Context& context, const HeadDotsArgs& args) { choose(context, args); }
void run(const Context& context, const HeadDotsBackwardArgs& args) { choose(context, args); }
void run(const Context& context, const MeanHeadsArgs& args) { choose(context, args); }
void run(const Context& context, const MeanHeadsBackwardArgs& args) { choose(context, args); }
void run(const Context& context, const LossArgs& args) { choose(context, args); }
void run(const Context& context, const FindOverflowArgs& args) { choose(context, args); }
void run(const Context& context, const OptimiseArgs& args) { choose(context, args); }
void run(const Context& context, const EndStepArgs& args) { choose(context, args); }
void run(const Context& context, const EndEvaluationArgs& args) { choose(context, args); }
void run(const Context& context, const KeepBestArgs& args) { choose(context, args); }
void run(const Context& context, const BatchNormArgs& args) { choose(context, args); }
void run(const Context& context, const BatchNormBackwardArgs& args) { choose(context, args); }
void run(const Context& context, const LayerNormArgs& args) { choose(context, args); }
void run(const Context& context, const LayerNormBackwardArgs& args) { choose(context, args); }

void saturate(const Context& context, TensorView values) {
  if (values.dtype != Dtype::f16) return;
  ActivateArgs args{values.dtype, values.shape.rows, values.shape.row_size(), values.data};
  args.out = values.mutable_data();
  run(context, args);
}

}  // namespace weft::nn
