// What a network's first layer reads.
#pragma once

#include <memory>

#include "nn/build.hpp"
#include "nn/linear.hpp"
#include "weft/dataset.hpp"

namespace weft::nn {

/// Features of nodes where the context runs, in the storage type: checked, divided by their sums where the model wants
/// it, dense or by their entries that are not 0.
class Features {
 public:
  Features(const Context& context, const ModelSpec& spec, Dtype dtype, const Dataset& dataset);
  /// Those of some nodes (i32), where `all` are.
  Features(const Context& context, const Features& all, ConstTensorView nodes);

  bool sparse() const { return !dense_; }
  ConstTensorView dense() const { return dense_; }
  const Graph& graph() const { return graph_; }       // sparse: rows are nodes, columns features
  ConstTensorView values() const { return values_; }  // sparse: by edge id
  Dtype dtype() const { return dense_ ? dense_.dtype() : values_.dtype(); }
  /// The graph of the first rows alone, which their nodes name.
  Graph first_rows(const Context& context, std::int64_t rows) const;

 private:
  Tensor dense_;
  Graph graph_;
  Tensor values_;
};

/// Features with what dropout leaves of them.
class Input {
 public:
  /// Of a network whose first layer writes the first `written` of the nodes.
  Input(const Build& build, std::shared_ptr<const Features> features, std::int64_t written);
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  /// What the first layer reads; with `training`, after dropout, which is drawn anew.
  Matrix read(Context& context, const dense::DropMask& mask, bool training);
  const SparseInput* sparse() const { return features_->sparse() ? &sparse_ : nullptr; }

 private:
  std::shared_ptr<const Features> features_;
  bool ever_drops_;
  Tensor dropped_;
  SparseInput sparse_, written_;
};

}  // namespace weft::nn
