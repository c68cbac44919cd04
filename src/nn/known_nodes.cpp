#include "nn/known_nodes.hpp"

#include <array>

#include "core/check.hpp"
#include "nn/data_fingerprint.hpp"

namespace weft::nn {
namespace {

constexpr std::array<std::string_view, 2> part_names{"names", "graph"};

/// A single 1 in every row, on the diagonal.
bool is_identity(const SparseRows& rows) {
  if (!rows || rows.cols != rows.rows() || rows.entries() != rows.cols) return false;
  const auto offsets = rows.offsets.span<std::int64_t>();
  const auto columns = rows.columns.span<std::int32_t>();
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (offsets[i] != static_cast<std::int64_t>(i) || columns[i] != static_cast<std::int32_t>(i)) return false;
  if (!rows.values) return true;
  for (const float value : rows.values.span<float>())
    if (value != 1) return false;
  return true;
}

}  // namespace

std::optional<KnownNodes> known_nodes_of(const Dataset& dataset) {
  if (!is_identity(dataset.sparse_features)) return std::nullopt;
  return KnownNodes{names_fingerprint(dataset), edges_fingerprint(dataset)};
}

std::string to_text(const KnownNodes& nodes) {
  return hashes_to_text(part_names, std::array{nodes.names, nodes.graph});
}

KnownNodes parse_known_nodes(std::string_view text) {
  std::array<std::uint64_t, part_names.size()> parts{};
  parse_hashes(text, "fingerprint of nodes", part_names, parts);
  return {parts[0], parts[1]};
}

std::string check_known_nodes(const Dataset& dataset, const Model& model) {
  if (!model.known_nodes) return {};
  constexpr std::string_view why = "the model was trained on identity features, so it knows its nodes one by one";
  const std::optional<KnownNodes> here = known_nodes_of(dataset);
  if (!here)
    return fmt::format("{}; the data has other features: predictions mean nothing unless they say the same", why);
  const KnownNodes& there = *model.known_nodes;
  const bool both_named = here->names != 0 && there.names != 0;
  WEFT_CHECK(!both_named || here->names == there.names, invalid_argument,
             "{}; the data's nodes have other names or ids, or another order: expected the same in the same order; for "
             "other nodes train on features that they have as well, such as --features degree or a FILE",
             why);
  if (!both_named && here->names != there.names)
    return fmt::format(
        "{}; only one of the model's and the data's nodes have names or ids other than 0, 1, 2, ...: "
        "predictions hold where node i is the same node in both",
        why);
  if (both_named || here->graph == there.graph) return {};
  return fmt::format("{}; this graph has other edges: predictions hold where node i is the same node in both graphs",
                     why);
}

}  // namespace weft::nn
