// What tells the data of one training from that of another, part by part.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "weft/dataset.hpp"

namespace weft::nn {

/// 64-bit hashes of the dataset's arrays with their types and shapes. Equal data has equal ones on every machine, with
/// any number of threads. They guard against mistakes, not against someone who makes up data to fit.
struct DataFingerprint {
  static constexpr std::array<std::string_view, 5> names{"graph", "edge_values", "features", "labels", "split"};
  std::array<std::uint64_t, names.size()> parts{};

  friend bool operator==(const DataFingerprint&, const DataFingerprint&) = default;
};

/// Reads every array once, in parallel.
DataFingerprint fingerprint_of(const Dataset& dataset);
/// "graph=0123456789abcdef edge_values=..."
std::string to_string(const DataFingerprint& fingerprint);
/// An Error (invalid_file) where it is not written so.
DataFingerprint parse_fingerprint(std::string_view text);

/// Of the ids or names of nodes, in their order; 0 where they have neither.
std::uint64_t names_fingerprint(const Dataset& dataset);
/// Of the edges as such: the order in which a file lists them does not count.
std::uint64_t edges_fingerprint(const Dataset& dataset);

/// "name=0123456789abcdef name=...": a hash for every name.
std::string hashes_to_text(std::span<const std::string_view> names, std::span<const std::uint64_t> hashes);
/// An Error (invalid_file) about `what` where the text is not written so.
void parse_hashes(std::string_view text, std::string_view what, std::span<const std::string_view> names,
                  std::span<std::uint64_t> hashes);

}  // namespace weft::nn
