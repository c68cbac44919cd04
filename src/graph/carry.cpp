// Edge values that follow the edges of a derived graph.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.hpp"
#include "core/dispatch.hpp"
#include "core/names.hpp"
#include "graph/scan.hpp"
#include "graph/values.hpp"
#include "weft/graph.hpp"

namespace weft {
namespace {

// Sums of integers are exact or an Error.
template <class T>
struct Sum {
  using Accumulator = std::conditional_t<std::is_integral_v<T>, std::int64_t, AccumulatorOf<T>>;
  Accumulator total{};

  void add(T value) {
    if constexpr (std::is_integral_v<T>) {
      WEFT_CHECK(!__builtin_add_overflow(total, std::int64_t{value}, &total), invalid_argument,
                 "values of parallel edges sum past 64 bits: merge them as f64");
    } else {
      total += convert<Accumulator>(value);
    }
  }
  T get() const {
    if constexpr (std::is_same_v<T, std::int32_t>)
      WEFT_CHECK(total >= std::numeric_limits<T>::min() && total <= std::numeric_limits<T>::max(), invalid_argument,
                 "values of parallel edges sum to {}, past what i32 holds: merge them as i64", total);
    return convert<T>(total);
  }
};

template <class T>
T fill_value(double fill) {
  if constexpr (std::is_integral_v<T>) {
    constexpr double bound = std::is_same_v<T, std::int32_t> ? 0x1.0p31 : 0x1.0p63;
    WEFT_CHECK(fill == std::trunc(fill) && fill >= -bound && fill < bound, invalid_argument,
               "fill is {}: expected a whole number that {} holds", fill, name(dtype_of<T>));
  }
  return convert<T>(fill);
}

void check_origin(const EdgeOrigin& origin, std::int64_t source_edges) {
  const auto ids = origin.ids();
  const auto offsets = origin.offsets();
  const auto count = static_cast<std::int64_t>(ids.size());
  const std::int64_t lowest = origin.one_to_one() ? -1 : 0;
  const std::int64_t wrong = find_first(count, [ids = ids.data(), lowest, source_edges](std::int64_t i) {
    return ids[i] < lowest || ids[i] >= source_edges;
  });
  if (wrong < count)
    fail(ErrorCode::invalid_argument,
         "origin names source edge {} (entry {}), but values has {} rows: expected one row "
         "for every edge of the source graph",
         ids[static_cast<std::size_t>(wrong)], wrong, source_edges);
  if (origin.one_to_one()) return;
  WEFT_CHECK(!offsets.empty() && offsets.front() == 0 && offsets.back() == count, invalid_argument,
             "origin's offsets do not run from 0 to its {} source edges", count);
  const auto edges = static_cast<std::int64_t>(offsets.size()) - 1;
  const std::int64_t falls = find_first(edges, [at = offsets.data()](std::int64_t k) { return at[k + 1] < at[k]; });
  WEFT_CHECK(falls == edges, invalid_argument, "origin's offsets fall after entry {}: expected offsets that never fall",
             falls);
}

}  // namespace

Tensor carry_values(const EdgeOrigin& origin, ConstTensorView values, Duplicates duplicates, double fill) {
  check_enum(duplicates, Duplicates::merge, "duplicates");
  check_values(values, "values");
  check_origin(origin, values.shape.rows);
  WEFT_CHECK(origin.one_to_one() || duplicates != Duplicates::keep, invalid_argument,
             "duplicates is keep, but this origin unites edges: expected merge (sum) or drop (the lowest id)");
  const auto ids = origin.ids();
  const auto offsets = origin.offsets();
  Shape shape = values.shape;
  shape.rows = static_cast<std::int64_t>(origin.one_to_one() ? ids.size() : offsets.size() - 1);
  Tensor result = Tensor::empty(shape, values.dtype, "edge values of a derived graph");
  const std::int64_t width = shape.row_size();
  const std::int64_t grain = std::max<std::int64_t>(scan_grain / std::max<std::int64_t>(width, 1), 1);
  with_any_dtype(values.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = values.as<T>();
    T* out = result.span<T>().data();
    const T blank = fill_value<T>(fill);
    const auto copy_row = [&](EdgeId from, std::int64_t to) {
      if (from < 0) {
        std::fill_n(out + to * width, width, blank);
      } else {
        std::copy_n(in + from * values.ld, width, out + to * width);
      }
    };
    parallel_ranges(default_threads(), shape.rows, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) {
        if (origin.one_to_one()) {
          copy_row(ids[static_cast<std::size_t>(k)], k);
          continue;
        }
        const auto members = ids.subspan(
            static_cast<std::size_t>(offsets[static_cast<std::size_t>(k)]),
            static_cast<std::size_t>(offsets[static_cast<std::size_t>(k) + 1] - offsets[static_cast<std::size_t>(k)]));
        if (duplicates == Duplicates::drop || members.size() <= 1) {
          copy_row(members.empty() ? EdgeId{-1} : members.front(), k);
          continue;
        }
        for (std::int64_t j = 0; j < width; ++j) {
          Sum<T> sum;
          for (const EdgeId id : members) sum.add(in[id * values.ld + j]);
          out[k * width + j] = sum.get();
        }
      }
    });
  });
  return result;
}

}  // namespace weft
