#include "bench/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "bench/cuda/measure.hpp"
#include "core/device.hpp"
#include "core/dispatch.hpp"

namespace weft::tool {
namespace {

constexpr double eps32 = std::numeric_limits<float>::epsilon();
constexpr double eps64 = std::numeric_limits<double>::epsilon();

// Half a unit in the last place, relative, and the smallest step near zero.
struct Rounding {
  double relative = 0, smallest = 0;
};
Rounding rounding_of(Dtype dtype) {
  if (dtype == Dtype::f16) return {0x1p-11, 0x1p-25};
  if (dtype == Dtype::bf16) return {0x1p-8, 0x1p-134};
  return {};
}

// Sampled rows of a tensor on a GPU, neighbours in one copy.
struct Run {
  std::int64_t begin = 0, count = 0;
};
std::vector<Run> runs_of(std::int64_t rows, const std::function<std::int64_t(std::int64_t)>& origin) {
  std::vector<Run> runs;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t at = origin(i);
    if (!runs.empty() && runs.back().begin + runs.back().count == at)
      ++runs.back().count;
    else
      runs.push_back({at, 1});
  }
  return runs;
}

}  // namespace

double sum_factor(std::int64_t terms) {
  return (terms > 1 ? std::ceil(std::log2(static_cast<double>(terms))) : 0.0) + 4;
}

double storage_factor(Dtype storage, double roundings) { return roundings * rounding_of(storage).relative / eps32; }

double error_bound(Dtype storage, double factor, std::int64_t terms, double expected, double absolute) {
  // The reference adds in order, in f64: its own error matters only where the result is f64 too.
  const double oracle = std::sqrt(static_cast<double>(terms)) * eps64 * absolute;
  const double sum = factor * (storage == Dtype::f64 ? eps64 : eps32) * absolute + oracle;
  const Rounding rounding = rounding_of(storage);
  return sum + rounding.relative * (std::fabs(expected) + sum) + rounding.smallest;
}

void Comparison::row(std::int64_t i, std::int64_t at, double factor, std::int64_t terms, Verification& total) const {
  with_floating(dtype_, "result", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* got = static_cast<const T*>(result_) + (packed_ ? i : at) * expected_.row_size;
    for (std::int64_t j = 0; j < expected_.row_size; ++j) {
      const auto k = static_cast<std::size_t>(i * expected_.row_size + j);
      const double wanted = expected_.values[k], value = convert<double>(got[j]);
      // Equal after rounding to storage: covers results that overflow the storage type.
      if (value == wanted || value == convert<double>(convert<T>(wanted))) continue;
      const double bound = error_bound(dtype_, factor, terms, wanted, expected_.absolute[k]);
      const double error = std::fabs(value - wanted);
      const double ratio = error / bound;
      if (ratio <= 1) {
        total.worst = std::max(total.worst, ratio);
        continue;
      }
      if (total.right)
        total.first_wrong = fmt::format("row {}, element {} is {} and should be {} (off by {:.3g}, allowed {:.3g})", at,
                                        j, value, wanted, error, bound);
      total.right = false;
      total.worst = std::isnan(ratio) ? std::numeric_limits<double>::infinity() : std::max(total.worst, ratio);
    }
  });
}

Verification Reference::compare(const Context& context, ConstTensorView result,
                                const std::function<double(std::int64_t terms)>& on_the_way) const {
  const std::int64_t rows = values.shape().rows, row_size = values.shape().row_size();
  const Expected expected{values.span<double>(), absolute ? absolute.span<double>() : values.span<double>(), row_size};
  const auto allowed = [&](std::int64_t i) {
    return factor(i) + (on_the_way ? storage_factor(result.dtype, on_the_way(terms(i))) : 0.0);
  };
  const auto against = [&](const void* data, bool packed) {
    return Comparison(expected, data, result.dtype, how, packed).run(origin, allowed, terms);
  };
  if (result.device.kind == DeviceKind::cpu) return against(result.data, false);

  const std::size_t row_bytes = static_cast<std::size_t>(row_size) * size_of(result.dtype);
  std::vector<Run> runs = runs_of(rows, origin);
  // A copy takes about 10 us to begin and moves about 4 GB/s to memory that is not pinned.
  const double whole = static_cast<double>(result.shape.size()) * static_cast<double>(size_of(result.dtype)) / 4e9;
  const bool packed = static_cast<double>(runs.size()) * 10e-6 < whole;
  if (!packed) runs = {{0, result.shape.size() / std::max<std::int64_t>(1, row_size)}};
  Tensor fetched =
      Tensor::empty(Shape(packed ? rows : runs.front().count, row_size), result.dtype, "a result brought to the host");
  auto* to = static_cast<std::byte*>(fetched.view().mutable_data());
  for (const Run& run : runs) {
    const std::size_t bytes = static_cast<std::size_t>(run.count) * row_bytes;
    copy_bytes({}, to, result.device,
               static_cast<const std::byte*>(result.data) + static_cast<std::size_t>(run.begin) * row_bytes, bytes,
               context.stream());
    to += bytes;
  }
  return against(fetched.view().data, packed);
}

std::uint64_t fingerprint(const Context& context, ConstTensorView tensor) {
  const std::size_t bytes = static_cast<std::size_t>(tensor.shape.size()) * size_of(tensor.dtype);
  return tensor.device.kind == DeviceKind::cpu ? fingerprint(tensor.data, bytes)
                                               : cuda_fingerprint(context, tensor.data, bytes);
}

std::uint64_t fingerprint(const void* data, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (; bytes >= 8; bytes -= 8, at += 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  for (; bytes > 0; --bytes, ++at) hash = (hash ^ *at) * 0x100000001b3u;
  return hash;
}

}  // namespace weft::tool
