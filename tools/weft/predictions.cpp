#include "predictions.hpp"

#include <fmt/format.h>

#include <iterator>

#include "core/check.hpp"
#include "graph/io/atomic_writer.hpp"
#include "graph/io/npy.hpp"

namespace weft::tool {
namespace {

template <class F>
void save_with(const std::string& path, F&& write) {
  try {
    io::AtomicWriter file(path);
    write(file);
    file.commit();
  } catch (const Error& error) {
    fail(error.code(), "cannot write '{}': {}", path, error.what());
  }
}

/// A name as a field of CSV, quoted where a reader would otherwise take it for something else.
std::string field_of(std::string_view name) {
  constexpr std::string_view special = ",;\t\r\n\"";
  const bool plain = !name.empty() && name.find_first_of(special) == name.npos && name.front() != ' ' &&
                     name.back() != ' ' && name.front() != '#';
  if (plain) return std::string(name);
  std::string text = "\"";
  for (const char c : name) text.append(c == '"' ? 2 : 1, c);
  return text + '"';
}

/// What a node is called.
std::string id_of(const Dataset& dataset, std::int64_t node) {
  if (dataset.node_ids) return fmt::to_string(dataset.node_ids.span<std::int64_t>()[static_cast<std::size_t>(node)]);
  return dataset.node_names ? field_of(dataset.node_names.at(node)) : fmt::to_string(node);
}

std::string_view numpy_name(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32: return "<f4";
    case Dtype::f64: return "<f8";
    case Dtype::i32: return "<i4";
    case Dtype::i64: return "<i8";
    default: fail(ErrorCode::internal, "numpy has no name for {}", name(dtype));
  }
}

}  // namespace

void save_npy(const std::string& path, const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  std::vector<std::int64_t> sizes{shape.rows};
  if (shape.rank > 2) sizes.push_back(shape.heads);
  if (shape.rank > 1) sizes.push_back(shape.width);
  save_with(path, [&](io::AtomicWriter& file) {
    file.write(io::make_npy_header(numpy_name(tensor.dtype()), sizes));
    file.write({static_cast<const std::byte*>(tensor.view().data), tensor.bytes()});
  });
}

void save_csv(const std::string& path, const Dataset& dataset, const NodeNames& class_names,
              const Predictions& predictions, const Tensor& probabilities) {
  const bool several = predictions.classes.shape().rank > 1;
  const std::int64_t nodes = predictions.scores.shape().rows, classes = predictions.scores.shape().row_size();
  const auto scores = predictions.scores.span<float>(), shares = probabilities.span<float>();
  const auto class_of = [&](std::int64_t label) {
    return class_names ? field_of(class_names.at(label)) : fmt::to_string(label);
  };
  constexpr std::size_t block = 1 << 20;
  save_with(path, [&](io::AtomicWriter& file) {
    std::string text = "node,class,score,probability\n";
    const auto add = [&](std::int64_t node, std::int64_t label) {
      const auto at = static_cast<std::size_t>(node * classes + label);
      fmt::format_to(std::back_inserter(text), "{},{},{},{}\n", id_of(dataset, node), class_of(label), scores[at],
                     shares[at]);
      if (text.size() < block) return;
      file.write(text);
      text.clear();
    };
    for (std::int64_t node = 0; node < nodes; ++node) {
      if (!several) {
        add(node, predictions.classes.span<std::int32_t>()[static_cast<std::size_t>(node)]);
        continue;
      }
      const auto has = predictions.classes.span<float>().subspan(static_cast<std::size_t>(node * classes),
                                                                 static_cast<std::size_t>(classes));
      for (std::int64_t label = 0; label < classes; ++label)
        if (has[static_cast<std::size_t>(label)] != 0) add(node, label);
    }
    file.write(text);
  });
}

}  // namespace weft::tool
