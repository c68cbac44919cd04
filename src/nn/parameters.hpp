// A model's parameters (and statistics, whose gradients stay 0) while it trains or runs: one array for all, where the
// context runs, and beside it arrays of the same layout for gradients, the optimiser's memory and copies in the storage
// type.
#pragma once

#include <span>
#include <vector>

#include "nn/layout.hpp"
#include "weft/context.hpp"

namespace weft::nn {

/// An Error unless the model's tensors are those its spec has, in f32 on the host.
void check_parameters(const Model& model);

class Parameters {
 public:
  /// `trains`: with gradients and the optimiser's memory. Where rows run over the classes they are padded with zeros,
  /// as padded_classes says.
  Parameters(Context& context, const Model& model, Dtype storage, bool trains, bool decay_first_layer_only);

  std::size_t index(const std::string& name) const;
  bool has(const std::string& name) const;
  /// In what they are accumulated in, and in the storage type (the same where that is f32 or f64).
  ConstTensorView value(std::size_t i) const { return view(values_, i); }
  ConstTensorView stored(std::size_t i) const { return view(stored_ ? stored_ : values_, i); }
  TensorView grad(std::size_t i);
  /// A statistic, which passes move.
  void* statistic(std::size_t i) const { return const_cast<void*>(view(values_, i).data); }

  Dtype acc() const { return values_.dtype(); }
  std::int64_t count() const { return values_.shape().rows; }  // with the gaps between them
  Tensor& values() { return values_; }
  Tensor& stored_values() { return stored_; }
  Tensor& grads() { return grads_; }
  Tensor& first() { return first_; }
  Tensor& second() { return second_; }
  Tensor& best() { return best_; }
  const Tensor& decays() const { return decays_; }

  /// Into the model's tensors, from `flat` (values() or best()).
  void copy_to(Model& model, const Tensor& flat, CUstream_st* stream) const;

 private:
  struct Entry {
    std::string name;
    Shape shape;  // padded
    std::int64_t at;
    std::int64_t run, padded_run;  // elements that stand together in the model, and here
  };
  /// f(elements of the model, elements here) for every run of an entry.
  template <class F>
  static void runs(const Entry& e, std::span<float> of_model, std::span<float> here, const F& f);
  ConstTensorView view(const Tensor& flat, std::size_t i) const;

  std::vector<Entry> entries_;
  Tensor values_, stored_, grads_, first_, second_, best_, decays_;
};

}  // namespace weft::nn
