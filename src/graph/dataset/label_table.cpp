#include "graph/dataset/label_table.hpp"

#include <algorithm>
#include <cmath>

#include "core/check.hpp"
#include "graph/dataset/tensor_of.hpp"

namespace weft::io {

void check_rows(const Tensor& table, std::int64_t nodes) {
  WEFT_CHECK(table.shape().rows == nodes, invalid_file, "it has {} rows: expected one for each of the {} nodes",
             table.shape().rows, nodes);
}

namespace {

Tensor classes_of(std::span<const float> labels) {
  constexpr float most = 1 << 24;  // beyond it a float skips numbers
  Tensor classes = Tensor::empty(Shape(static_cast<std::int64_t>(labels.size())), Dtype::i32, "labels");
  const auto out = classes.span<std::int32_t>();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const float label = labels[i];
    WEFT_CHECK(std::isnan(label) || (label >= -1 && label < most && label == std::trunc(label)), invalid_file,
               "the label of node {} is {}: expected a class from 0 to {}, or nan for none", i, label, (1 << 24) - 1);
    out[i] = std::isnan(label) ? -1 : static_cast<std::int32_t>(label);
  }
  return classes;
}

}  // namespace

void take_labels(Tensor table, Dataset& data) {
  check_rows(table, data.num_nodes());
  const std::int64_t columns = table.shape().row_size();
  WEFT_CHECK(columns > 0, invalid_file, "its rows are empty: expected a label for each node");
  const std::span<const float> labels = std::as_const(table).span<float>();
  if (columns == 1) {
    data.labels = classes_of(labels);
    data.classes = classes_in(data.labels);
    return;
  }
  const auto wrong = std::ranges::find_if(labels, [](float v) { return v != 0 && v != 1 && !std::isnan(v); });
  WEFT_CHECK(wrong == labels.end(), invalid_file,
             "label {} of node {} is {}: expected 0, 1, or nan where it is unknown", (wrong - labels.begin()) % columns,
             (wrong - labels.begin()) / columns, *wrong);
  data.classes = columns;
  data.labels = std::move(table);
}

}  // namespace weft::io
