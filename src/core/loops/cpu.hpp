// The loops of a CPU: threads take ranges of what there is to do, and a team is one.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/loops/fold.hpp"
#include "core/loops/run.hpp"
#include "core/parallel.hpp"

namespace weft::loops {

/// A team of one.
struct Solo {
  static constexpr int held = 0;
  static constexpr std::int64_t lane() { return 0; }
  static constexpr std::int64_t lanes() { return 1; }
  template <class V>
  V sum(V value) const {
    return value;
  }
  template <class V>
  V max(V value) const {
    return value;
  }
  template <class V>
  V min(V value) const {
    return value;
  }
  /// How many lanes before this one are `in`, and in all.
  static int rank(bool) { return 0; }
  static int count(bool in) { return in ? 1 : 0; }
};

struct CpuLoops {
  static constexpr bool has_f64 = true;
  static constexpr std::int64_t grain = 1 << 13;  // elements per task at least
  int threads;

  /// body(i) for every i of [0, count).
  template <class Body>
  void each(std::int64_t count, const char*, const Body& body) const {
    parallel_ranges(threads, count, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) body(i);
    });
  }
  /// body(i, body.common()) for every i, if the body applies() at all.
  template <class Body>
  void each_with_common(std::int64_t count, const char* doing, const Body& body) const {
    if (!body.applies()) return;
    const auto common = body.common();
    each(count, doing, [&](std::int64_t i) { body(i, common); });
  }
  /// body(team, i) for every i; `width` says how much there is to share in a team.
  template <class Body>
  void teams(std::int64_t count, std::int64_t width, const char*, const Body& body) const {
    parallel_ranges(threads, count, grain / std::max<std::int64_t>(width, 1) + 1,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t i = begin; i < end; ++i) body(Solo{}, i);
                    });
  }
  /// body(publish) once; publish(number, value) shows what was written before it to the host, and then the number.
  template <class Body>
  void alone(const char*, const Body& body) const {
    body([](std::int64_t* number, std::int64_t value) { *number = value; });
  }

  /// Sums of columns by Strip<T, Width> over args.rows, into `first` and `second` where they are wanted.
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
  /// The same over all columns.
  template <class T, template <class, int> class Strip, class Args, class Acc>
  void fold_all(const Args& args, std::int64_t columns, const char*, Acc* out) const {
    const double* const partial = fold<T, Strip>(args, columns);
    double sum = 0;
    for (std::int64_t i = 0; i < chunks_of(args.rows) * columns; ++i) sum += partial[i];
    *out = static_cast<Acc>(sum);
  }
  /// body(team, row), a Body::Sums, added up over the rows of every group body.group_of(row), counted from 1; rows of
  /// group 0 are left out. A Body::Sums is nothing but doubles, with add().
  template <class Body>
  void fold_groups(std::int64_t rows, std::int64_t width, const char*, const Body& body, void* scratch,
                   typename Body::Sums* sums) const {
    using Sums = typename Body::Sums;
    auto* const partial = static_cast<Sums*>(scratch);
    chunks(rows, width, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
      Sums mine[Body::groups] = {};
      for (std::int64_t row = begin; row < end; ++row) {
        const Sums of_row = body(Solo{}, row);
        const int group = body.group_of(row);
        if (group > 0) mine[group - 1].add(of_row);
      }
      std::copy_n(mine, Body::groups, partial + chunk * Body::groups);
    });
    for (int group = 0; group < Body::groups; ++group) {
      sums[group] = {};
      for (std::int64_t chunk = 0; chunk < chunks_of(rows); ++chunk)
        sums[group].add(partial[chunk * Body::groups + group]);
    }
  }

 private:
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
};

template <class Args>
void run(Cpu on, const Args& args) {
  run_on(CpuLoops{on.threads}, args);
}

}  // namespace weft::loops
