// Graphs over compressed rows that stand in tensors of the caller's: what has weft's types is taken as it is, and all
// else is copied into them.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "core/check.hpp"
#include "core/parallel.hpp"
#include "graph/convert_ids.hpp"
#include "graph/graph_impl.hpp"
#include "graph/scan.hpp"

namespace weft {
namespace {

/// How an error names a tensor: "rows.offsets", "transposed.cols".
struct Argument {
  std::string_view half, array;
  std::string text() const { return fmt::format("{}.{}", half, array); }
};

void check_array(ConstTensorView array, Argument name, bool narrow_is_fine, Device device) {
  WEFT_CHECK(array.dtype == Dtype::i64 || (narrow_is_fine && array.dtype == Dtype::i32), invalid_argument,
             "{} has dtype {}: expected {}", name.text(), weft::name(array.dtype),
             narrow_is_fine ? "i32 or i64" : "i64");
  WEFT_CHECK(array.shape.rows >= 0 && array.shape.row_size() == 1 && array.ld == 1, invalid_argument,
             "{} has shape {} and leading dimension {}: expected one dimension, its entries side by side", name.text(),
             to_string(array.shape), array.ld);
  WEFT_CHECK(array.data != nullptr || array.shape.rows == 0, invalid_argument,
             "{} has shape {} but no memory (null data)", name.text(), to_string(array.shape));
  WEFT_CHECK(array.device == device, invalid_argument, "{} is on {} and rows.offsets on {}: expected all on one device",
             name.text(), to_string(array.device), to_string(device));
}

void check_arrays(const RowTensors& rows, std::string_view half, std::int64_t num_rows, std::int64_t num_edges,
                  Device device) {
  WEFT_CHECK(rows.offsets.given, invalid_argument,
             "{}.offsets is missing: expected where every row begins, and the end", half);
  WEFT_CHECK(rows.cols.given, invalid_argument, "{}.cols is missing: expected a node id for every edge", half);
  check_array(rows.offsets, {half, "offsets"}, true, device);
  check_array(rows.cols, {half, "cols"}, true, device);
  WEFT_CHECK(rows.offsets.shape.rows == num_rows + 1, invalid_argument,
             "{}.offsets has {} entries: expected {}, one more than rows", half, rows.offsets.shape.rows, num_rows + 1);
  WEFT_CHECK(rows.cols.shape.rows == num_edges, invalid_argument, "{}.cols has {} entries: expected {}, one per edge",
             half, rows.cols.shape.rows, num_edges);
  if (!rows.edge_ids.given) return;
  check_array(rows.edge_ids, {half, "edge_ids"}, false, device);
  WEFT_CHECK(rows.edge_ids.shape.rows == num_edges, invalid_argument,
             "{}.edge_ids has {} entries: expected none or {}, one per edge", half, rows.edge_ids.shape.rows,
             num_edges);
}

/// One half's arrays, and what is held for them.
struct Arrays {
  std::shared_ptr<const void> given;
  Tensor offsets, cols, rows;  // copies; the last of a graph on a device

  const EdgeId* all_offsets = nullptr;
  const NodeId* all_cols = nullptr;
};

std::shared_ptr<Arrays> arrays_of(const RowTensors& from, std::shared_ptr<const void> keeper, std::int64_t num_rows,
                                  std::int64_t num_cols, CUstream_st* stream) {
  auto kept = std::make_shared<Arrays>();
  kept->given = std::move(keeper);
  if (from.offsets.dtype == Dtype::i32)
    kept->offsets = converted_ids<EdgeId, std::int32_t>(from.offsets, "offsets of a graph", stream);
  if (from.cols.dtype == Dtype::i64)
    kept->cols = converted_ids<NodeId, std::int64_t>(from.cols, "columns of a graph", stream);
  kept->all_offsets = kept->offsets ? kept->offsets.view().as<EdgeId>() : from.offsets.as<EdgeId>();
  kept->all_cols = kept->cols ? kept->cols.view().as<NodeId>() : from.cols.as<NodeId>();
  const std::int64_t num_edges = from.cols.shape.rows;
  if (from.offsets.device.kind == DeviceKind::cpu) return kept;
  kept->rows = Tensor::empty(Shape(num_edges), Dtype::i32, "rows of a graph", from.offsets.device, stream);
  GraphView list{num_rows, num_cols, num_edges};
  list.offsets = kept->all_offsets;
  list.cols = kept->all_cols;
  if (num_edges > 0) cuda::expand_rows(from.offsets.device, stream, list, kept->rows.view().as<NodeId>());
  return kept;
}

/// An Error that names the first index of a half on the host that is out of place.
void check_half(const RowTensors& rows, const Arrays& arrays, std::string_view half, std::int64_t num_rows,
                std::int64_t num_cols) {
  const std::int64_t num_edges = rows.cols.shape.rows;
  if (rows.cols.dtype == Dtype::i64) {  // a wide id might have become a narrow one that is in range
    const std::int64_t* const wide = rows.cols.as<std::int64_t>();
    const std::int64_t k = find_first(num_edges, [=](std::int64_t i) { return wide[i] < 0 || wide[i] >= num_cols; });
    WEFT_CHECK(k == num_edges, invalid_graph, "{}.cols[{}] is {}: expected a node id from 0 to {}", half, k, wide[k],
               num_cols - 1);
  }
  GraphView view{num_rows, num_cols, num_edges};
  view.offsets = arrays.all_offsets;
  view.cols = arrays.all_cols;
  view.edge_ids = rows.edge_ids.given ? rows.edge_ids.as<EdgeId>() : nullptr;
  try {
    validate(view);
  } catch (const Error& error) {
    fail(error.code(), "{}.{}", half, error.what());
  }
}

/// An Error unless the second half has the edges of the first, reversed and with the same ids.
void check_reversed(const GraphView& given, const GraphView& reversed) {
  Buffer<NodeId> rows(static_cast<std::size_t>(given.num_edges), "ends of edges by id"),
      cols(static_cast<std::size_t>(given.num_edges), "ends of edges by id");
  parallel_runs(given.offsets, given.num_rows, given.num_edges, [&](NodeId row, EdgeId begin, EdgeId end) {
    for (EdgeId k = begin; k < end; ++k) {
      const auto id = static_cast<std::size_t>(given.edge_id(k));
      rows[id] = row;
      cols[id] = given.cols[k];
    }
  });
  std::atomic<EdgeId> wrong{given.num_edges};
  parallel_runs(reversed.offsets, reversed.num_rows, given.num_edges, [&](NodeId row, EdgeId begin, EdgeId end) {
    for (EdgeId k = begin; k < end; ++k) {
      const auto id = static_cast<std::size_t>(reversed.edge_id(k));
      if (cols[id] == row && rows[id] == reversed.cols[k]) continue;
      EdgeId seen = wrong.load(std::memory_order_relaxed);
      while (k < seen && !wrong.compare_exchange_weak(seen, k, std::memory_order_relaxed)) {
      }
      return;
    }
  });
  const EdgeId k = wrong.load();
  if (k == given.num_edges) return;
  const auto id = static_cast<std::size_t>(reversed.edge_id(k));
  fail(ErrorCode::invalid_graph,
       "transposed has edge {} from {} to {}, but rows has it from {} to {}: expected the same edges, reversed", id,
       row_of_edge(reversed.offsets, reversed.num_rows, k), reversed.cols[k], rows[id], cols[id]);
}

RowTensors on_host(const RowTensors& rows, CUstream_st* stream, std::vector<Tensor>& copies) {
  const auto copied = [&](ConstTensorView array) {
    if (!array.given) return array;
    Tensor copy = Tensor::empty(array.shape, array.dtype, "a graph's arrays on the host");
    copy_bytes(Device{}, copy.view().mutable_data(), array.device, array.data, copy.bytes(), stream);
    return ConstTensorView(copies.emplace_back(std::move(copy)).view());
  };
  RowTensors here = rows;
  here.offsets = copied(rows.offsets);
  here.cols = copied(rows.cols);
  here.edge_ids = copied(rows.edge_ids);
  return here;
}

/// What a look at a half on the host tells of its rows.
void look(const EdgeId* offsets, std::int64_t num_rows, RowTensors& rows) {
  rows.longest_row = rows.empty_rows = 0;
  for (std::int64_t row = 0; row < num_rows; ++row) {
    const EdgeId degree = offsets[row + 1] - offsets[row];
    rows.longest_row = std::max(rows.longest_row, degree);
    rows.empty_rows += degree == 0 ? 1 : 0;
  }
}

}  // namespace

void Graph::Impl::take(const RowTensors& from, std::shared_ptr<const void> kept_for, std::int64_t rows_count,
                       std::int64_t cols_count, CUstream_st* in_stream) {
  const auto arrays = arrays_of(from, std::move(kept_for), rows_count, cols_count, in_stream);
  const auto count = static_cast<std::size_t>(from.cols.shape.rows);
  num_rows = rows_count;
  num_cols = cols_count;
  device = from.offsets.device;
  offsets = {arrays->all_offsets, static_cast<std::size_t>(rows_count) + 1};
  cols = {arrays->all_cols, count};
  if (from.edge_ids.given) edge_ids = {from.edge_ids.as<EdgeId>(), count};
  keeper = arrays;
  if (device.kind == DeviceKind::cpu) return;
  stream = in_stream;
  device_rows = arrays->rows.view().as<NodeId>();
  longest_row = from.longest_row;
  empty_rows = from.empty_rows;
}

Graph Graph::adopt(NodeCounts nodes, const RowTensors& rows, const RowTensors& transposed,
                   std::shared_ptr<const void> keeper, Validate validation, CUstream_st* stream) {
  const auto [num_sources, num_destinations] = nodes;
  check_node_count(num_sources, "num_sources");
  check_node_count(num_destinations, "num_destinations");
  const Device device = rows.offsets.device;
  const bool both = transposed.offsets.given || transposed.cols.given || transposed.edge_ids.given;
  const bool full = validation == Validate::full;
  check_arrays(rows, "rows", num_destinations, rows.cols.shape.rows, device);
  if (both) check_arrays(transposed, "transposed", num_sources, rows.cols.shape.rows, device);
  RowTensors given = rows, reversed = transposed;
  if (full && device.kind == DeviceKind::cuda) {
    std::vector<Tensor> copies;
    copies.reserve(6);
    const RowTensors here = on_host(rows, stream, copies),
                     there = both ? on_host(transposed, stream, copies) : RowTensors{};
    const Graph looked_at = adopt(nodes, here, there, nullptr, Validate::full, nullptr);
    look(looked_at.host_view().offsets, num_destinations, given);
    if (both) {
      const Graph other = looked_at.transpose();
      look(other.host_view().offsets, num_sources, reversed);
    }
  }
  auto pair = std::make_shared<Impl::Pair>();
  pair->given.pair = pair->reversed.pair = pair.get();
  pair->given.take(given, keeper, num_destinations, num_sources, stream);
  if (both) {
    pair->reversed.take(reversed, std::move(keeper), num_sources, num_destinations, stream);
    pair->reversed_built = true;
  }
  if (full && device.kind == DeviceKind::cpu) {
    const auto arrays = [](const Impl& half) { return static_cast<const Arrays*>(half.keeper.get()); };
    check_half(rows, *arrays(pair->given), "rows", num_destinations, num_sources);
    if (both) {
      check_half(transposed, *arrays(pair->reversed), "transposed", num_sources, num_destinations);
      check_reversed(pair->given.view(), pair->reversed.view());
    }
    for (Impl* half : {&pair->given, &pair->reversed})
      if (in_sequence(half->edge_ids)) half->edge_ids = {};
  }
  return Graph(std::shared_ptr<const Impl>(pair, &pair->given));
}

}  // namespace weft
