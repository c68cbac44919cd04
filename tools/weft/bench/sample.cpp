#include "bench/sample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "text.hpp"

namespace weft::tool {
namespace {

// A full-period walk over the rows: every row once, in an order that looks random.
std::int64_t step_for(std::int64_t rows) {
  const auto gcd = [](std::int64_t a, std::int64_t b) {
    while (b != 0) a = std::exchange(b, a % b);
    return a;
  };
  std::int64_t step =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(rows) * 0.6180339887)) | 1;
  while (gcd(step, rows) != 1) step += 2;
  return step;
}

ConstTensorView copy_rows(const Tensor& tensor, Tensor& keep, std::int64_t count, auto&& origin) {
  Shape shape = tensor.shape();
  shape.rows = count;
  keep = Tensor::empty(shape, tensor.dtype(), "operands of the sampled rows");
  const std::size_t bytes = static_cast<std::size_t>(shape.row_size()) * size_of(tensor.dtype());
  const auto* from = static_cast<const std::byte*>(tensor.view().data);
  auto* to = static_cast<std::byte*>(keep.view().mutable_data());
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(to + static_cast<std::size_t>(i) * bytes, from + static_cast<std::size_t>(origin(i)) * bytes, bytes);
  return keep.view();
}

}  // namespace

Sample Sample::of(const Graph& graph, std::int64_t features, double full_work, double sample_work) {
  Sample sample;
  sample.graph_ = graph;
  const GraphView view = graph.view();
  const auto work = [&](std::int64_t edges) { return static_cast<double>(edges) * static_cast<double>(features); };
  if (view.num_rows == 0 || work(view.num_edges) <= full_work) return sample;
  sample.everything_ = false;

  const auto degree = [&](std::int64_t v) { return view.offsets[v + 1] - view.offsets[v]; };
  std::int64_t longest = 0;
  for (std::int64_t v = 0; v < view.num_rows; ++v)
    if (degree(v) > degree(longest)) longest = v;
  std::vector<std::int64_t> rows{0, view.num_rows - 1};
  sample.with_longest_ = work(degree(longest)) <= full_work;
  if (sample.with_longest_) rows.push_back(longest);
  std::int64_t edges = 0;
  const std::int64_t step = step_for(view.num_rows);
  for (std::int64_t i = 0, v = 0; i < view.num_rows && work(edges) < sample_work; ++i, v = (v + step) % view.num_rows) {
    if (work(degree(v)) > sample_work) continue;
    rows.push_back(v);
    edges += degree(v) + 1;
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());

  sample.rows_ = std::move(rows);
  sample.offsets_.push_back(0);
  for (const std::int64_t v : sample.rows_) {
    for (EdgeId k = view.offsets[v]; k < view.offsets[v + 1]; ++k) {
      sample.cols_.push_back(view.cols[k]);
      sample.edges_.push_back(view.edge_id(k));
    }
    sample.offsets_.push_back(static_cast<EdgeId>(sample.cols_.size()));
  }
  return sample;
}

GraphView Sample::view() const {
  if (everything_) return graph_.view();
  GraphView view;
  view.num_rows = num_rows();
  view.num_cols = graph_.num_cols();
  view.num_edges = num_edges();
  view.offsets = offsets_.data();
  view.cols = cols_.data();
  return view;
}

std::int64_t Sample::degree(std::int64_t i) const {
  const GraphView all = graph_.view();
  return all.offsets[row(i) + 1] - all.offsets[row(i)];
}

ConstTensorView Sample::by_row(const Tensor& tensor, Tensor& keep) const {
  if (everything_ || !tensor) return tensor ? tensor.view() : ConstTensorView{};
  return copy_rows(tensor, keep, num_rows(), [&](std::int64_t i) { return row(i); });
}

ConstTensorView Sample::by_edge(const Tensor& tensor, Tensor& keep) const {
  if (everything_ || !tensor) return tensor ? tensor.view() : ConstTensorView{};
  return copy_rows(tensor, keep, num_edges(), [&](std::int64_t i) { return edge(i); });
}

std::string Sample::describe() const {
  if (everything_) return "all rows";
  return fmt::format("{} of {} rows{}", grouped(num_rows()), grouped(graph_.num_rows()),
                     with_longest_ ? ", the longest among them" : "");
}

}  // namespace weft::tool
