#include "nn/data_fingerprint.hpp"

#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <cstring>
#include <span>

#include "core/check.hpp"
#include "core/in_quotes.hpp"
#include "core/mix.hpp"
#include "core/parallel.hpp"

namespace weft::nn {
namespace {

constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // far from its own multiples modulo 2^64
constexpr std::size_t digits = 16;

/// The sum over all words of mix(word and place), which no order of adding changes.
std::uint64_t hash_of(const void* data, std::size_t bytes) {
  constexpr std::int64_t grain = 1 << 16;  // words: half a megabyte
  const auto* const from = static_cast<const std::byte*>(data);
  const std::size_t words = bytes / sizeof(std::uint64_t);
  std::atomic<std::uint64_t> total{0};
  parallel_ranges(default_threads(), static_cast<std::int64_t>(words), grain,
                  [&](std::int64_t begin, std::int64_t end) {
                    std::uint64_t sum = 0;
                    for (std::int64_t i = begin; i < end; ++i) {
                      std::uint64_t word = 0;
                      std::memcpy(&word, from + i * static_cast<std::int64_t>(sizeof word), sizeof word);
                      sum += mix(word ^ static_cast<std::uint64_t>(i + 1) * odd);
                    }
                    total.fetch_add(sum, std::memory_order_relaxed);
                  });
  std::uint64_t last = 0;
  if (const std::size_t rest = bytes % sizeof last; rest > 0) std::memcpy(&last, from + (bytes - rest), rest);
  return mix(total.load() + mix(last ^ bytes * odd));
}

class Hash {
 public:
  void add(std::uint64_t word) { state_ = mix(state_ * odd + word); }
  template <class T>
  void add(std::span<const T> values) {
    add(hash_of(values.data(), values.size_bytes()));
  }
  void add(const Tensor& tensor) {
    add(std::uint64_t{tensor ? 1u : 0u});
    if (!tensor) return;
    const Shape& shape = tensor.shape();
    for (const std::int64_t n : {static_cast<std::int64_t>(tensor.dtype()), static_cast<std::int64_t>(shape.rank),
                                 shape.rows, shape.heads, shape.width})
      add(static_cast<std::uint64_t>(n));
    add(hash_of(tensor.view().data, tensor.bytes()));
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 1;
};

void add_edges(Hash& hash, const Graph& graph) {
  hash.add(static_cast<std::uint64_t>(graph.num_rows()));
  hash.add(static_cast<std::uint64_t>(graph.num_cols()));
  hash.add(graph.offsets());
  hash.add(graph.cols());
}

}  // namespace

DataFingerprint fingerprint_of(const Dataset& dataset) {
  Hash graph, values, features, labels, split;
  add_edges(graph, dataset.graph);
  graph.add(dataset.graph.edge_ids());
  values.add(dataset.values);
  features.add(dataset.features);
  features.add(static_cast<std::uint64_t>(dataset.sparse_features.cols));
  features.add(dataset.sparse_features.offsets);
  features.add(dataset.sparse_features.columns);
  features.add(dataset.sparse_features.values);
  labels.add(static_cast<std::uint64_t>(dataset.classes));
  labels.add(dataset.labels);
  for (const Tensor* part : {&dataset.train, &dataset.val, &dataset.test}) split.add(*part);
  return {{graph.value(), values.value(), features.value(), labels.value(), split.value()}};
}

std::uint64_t names_fingerprint(const Dataset& dataset) {
  if (!dataset.node_ids && !dataset.node_names) return 0;
  Hash hash;
  hash.add(dataset.node_ids);
  hash.add(dataset.node_names.offsets);
  hash.add(std::span<const char>(dataset.node_names.text));
  return hash.value();
}

std::uint64_t edges_fingerprint(const Dataset& dataset) {
  Hash hash;
  add_edges(hash, dataset.graph);
  return hash.value();
}

std::string hashes_to_text(std::span<const std::string_view> names, std::span<const std::uint64_t> hashes) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += fmt::format("{}{}={:016x}", i > 0 ? " " : "", names[i], hashes[i]);
  return text;
}

void parse_hashes(std::string_view text, std::string_view what, std::span<const std::string_view> names,
                  std::span<std::uint64_t> hashes) {
  std::string_view rest = text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string start = fmt::format("{}{}=", i > 0 ? " " : "", names[i]);
    const char* const first = rest.data() + start.size();
    const bool fits = rest.starts_with(start) && rest.size() >= start.size() + digits;
    WEFT_CHECK(fits && std::from_chars(first, first + digits, hashes[i], 16).ptr == first + digits, invalid_file,
               "the {} is {}: expected 16 hexadecimal digits of every part", what, weft::in_quotes(text, 80));
    rest.remove_prefix(start.size() + digits);
  }
  WEFT_CHECK(rest.empty(), invalid_file, "the {} ends in {}: expected its {} parts alone", what, weft::in_quotes(rest),
             names.size());
}

std::string to_string(const DataFingerprint& fingerprint) {
  return hashes_to_text(fingerprint.names, fingerprint.parts);
}

DataFingerprint parse_fingerprint(std::string_view text) {
  DataFingerprint fingerprint;
  parse_hashes(text, "data's fingerprint", fingerprint.names, fingerprint.parts);
  return fingerprint;
}

}  // namespace weft::nn
