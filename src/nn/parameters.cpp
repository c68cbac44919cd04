#include "nn/parameters.hpp"

#include <algorithm>
#include <cmath>

#include "core/check.hpp"
#include "core/dispatch.hpp"

namespace weft::nn {
namespace {

constexpr std::int64_t alignment = 64;  // elements: every parameter can be moved in packs of any size

}  // namespace

void check_parameters(const Model& model) {
  const auto check = [](const std::vector<Parameter>& given, const std::vector<ParameterSpec>& wanted) {
    WEFT_CHECK(given.size() == wanted.size(), invalid_argument,
               "the model has {} tensors and its spec {}: expected as many; make_model makes one that fits",
               given.size(), wanted.size());
    for (std::size_t i = 0; i < given.size(); ++i) {
      const Tensor& value = given[i].value;
      WEFT_CHECK(given[i].name == wanted[i].name && value && value.dtype() == Dtype::f32 &&
                     value.shape() == wanted[i].shape && value.device() == Device{},
                 invalid_argument, "the model's tensor {} is {} {} {} on {}: expected {} f32 {} on cpu", i,
                 given[i].name, name(value.dtype()), to_string(value.shape()), to_string(value.device()),
                 wanted[i].name, to_string(wanted[i].shape));
      const std::span<const float> values = value.span<float>();
      const auto odd = std::ranges::find_if_not(values, [](float x) { return std::isfinite(x); });
      WEFT_CHECK(odd == values.end(), invalid_argument,
                 "the model's {} holds {} at {}: expected finite numbers; it was not trained well, or is damaged",
                 given[i].name, *odd, odd - values.begin());
    }
  };
  check(model.parameters, parameters_of(model.spec));
  check(model.statistics, statistics_of(model.spec));
}

template <class F>
void Parameters::runs(const Entry& e, std::span<float> of_model, std::span<float> here, const F& f) {
  const auto run = static_cast<std::size_t>(e.run), padded = static_cast<std::size_t>(e.padded_run);
  for (std::size_t from = 0, to = static_cast<std::size_t>(e.at); from < of_model.size(); from += run, to += padded)
    f(of_model.subspan(from, run), here.subspan(to, run));
}

Parameters::Parameters(Context& context, const Model& model, Dtype storage, bool trains, bool decay_first_layer_only) {
  const Device device = context.device();
  const std::int64_t classes = model.spec.classes, padded = padded_classes(classes, storage, device);
  std::vector<ParameterSpec> specs = parameters_of(model.spec);
  for (ParameterSpec& p : statistics_of(model.spec)) specs.push_back(std::move(p));
  std::vector<const Parameter*> all;
  for (const std::vector<Parameter>* list : {&model.parameters, &model.statistics})
    for (const Parameter& p : *list) all.push_back(&p);
  std::int64_t count = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Shape given = all[i]->value.shape();
    Shape shape = given;
    const std::int64_t groups = specs[i].class_groups;
    if (groups > 0) (given.rank == 1 ? shape.rows : shape.width) = groups * padded;
    entries_.push_back({all[i]->name, shape, count, groups > 0 ? classes : std::max<std::int64_t>(given.size(), 1),
                        groups > 0 ? padded : given.size()});
    count += (shape.size() + alignment - 1) / alignment * alignment;
  }
  const Dtype acc = storage == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  Tensor flat = Tensor::zeros(Shape(count), Dtype::f32, "parameters");
  Tensor decays = Tensor::zeros(Shape((count + 3) / 4), Dtype::i32, "weight decay");  // a byte each
  auto* const decay_bytes = static_cast<std::uint8_t*>(decays.view().mutable_data());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Parameter& p = *all[i];
    Tensor value = p.value.clone();
    runs(entries_[i], value.span<float>(), flat.span<float>(),
         [](std::span<float> of_model, std::span<float> here) { std::ranges::copy(of_model, here.begin()); });
    const bool decaying = decay_first_layer_only ? p.layer == 0 && p.decays : p.decays;
    std::fill_n(decay_bytes + entries_[i].at, entries_[i].shape.size(), decaying ? 1 : 0);
  }
  CUstream_st* const stream = context.stream();
  values_ = flat.to(acc).to(device, stream);
  if (storage != acc) stored_ = flat.to(storage).to(device, stream);
  if (!trains) return;
  const auto zeros = [&](const char* what) { return Tensor::zeros(Shape(count), acc, what, device, stream); };
  grads_ = zeros("gradients of parameters");
  first_ = zeros("the optimiser's memory");
  second_ = zeros("the optimiser's memory");
  best_ = values_.to(device, stream);
  decays_ = decays.to(device, stream);
}

bool Parameters::has(const std::string& name) const {
  return std::ranges::any_of(entries_, [&](const Entry& e) { return e.name == name; });
}

std::size_t Parameters::index(const std::string& name) const {
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  WEFT_CHECK(found != entries_.end(), internal, "the model has no parameter {}", name);
  return static_cast<std::size_t>(found - entries_.begin());
}

ConstTensorView Parameters::view(const Tensor& flat, std::size_t i) const {
  const Entry& e = entries_[i];
  const auto* const data = static_cast<const std::byte*>(flat.view().data);
  return {data + e.at * static_cast<std::int64_t>(size_of(flat.dtype())), flat.dtype(), e.shape, flat.device()};
}

TensorView Parameters::grad(std::size_t i) {
  const ConstTensorView v = view(grads_, i);
  return {const_cast<void*>(v.data), v.dtype, v.shape, v.device};
}

void Parameters::copy_to(Model& model, const Tensor& flat, CUstream_st* stream) const {
  Tensor here = flat.to(Device{}, stream).to(Dtype::f32);
  std::size_t i = 0;
  for (std::vector<Parameter>* list : {&model.parameters, &model.statistics})
    for (Parameter& p : *list)
      runs(entries_[i++], p.value.span<float>(), here.span<float>(),
           [](std::span<float> of_model, std::span<float> from) { std::ranges::copy(from, of_model.begin()); });
}

}  // namespace weft::nn
