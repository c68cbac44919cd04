// The ends of edges out of an integer array as PyG keeps them: [2, edges], row 0 the sources and row 1 the targets; or
// [edges, 2], a line per edge. Either may be in C's or in Fortran's order.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/memory.hpp"
#include "graph/io/naming.hpp"
#include "graph/io/npy_items.hpp"
#include "weft/types.hpp"

namespace weft::io {

enum class EndsLayout { rows, rows_or_columns };  // [2, edges] alone, or both

struct EdgeEnds {
  Buffer<NodeId> sources, targets;
  std::string note;  // where the array could be read in two ways

  std::size_t size() const { return sources.size(); }
};

/// An Error unless the array is of integers and has such a shape.
void check_edge_ends(const NpyHeader& header, const std::string& key, EndsLayout layout);
/// An Error that names the first edge with an end outside of [0, nodes).
void check_ends_below(const EdgeEnds& ends, std::int64_t nodes);
/// One more than the largest end; an Error for an end below 0.
std::int64_t nodes_of(const EdgeEnds& ends);

/// What check_edge_ends let pass. Never a second copy of the whole array.
template <class Stream>
EdgeEnds read_edge_ends(const NpyHeader& header, const std::string& key, Stream& stream, const Progress& progress) {
  const bool rows = header.shape[0] == 2;
  EdgeEnds ends;
  if (rows && header.shape[1] == 2)
    ends.note = "the 2 x 2 array of edges is taken as PyG's: row 0 sources, row 1 targets";
  NpyHeader part = header;  // some of the elements, as they follow one another in the file
  part.by_columns = false;
  const bool one_after_the_other = rows != header.by_columns;  // all sources, then all targets
  const auto edges = static_cast<std::size_t>(rows ? header.shape[1] : header.shape[0]);
  ends.sources = Buffer<NodeId>(edges, "source of every edge");
  ends.targets = Buffer<NodeId>(edges, "target of every edge");
  if (one_after_the_other) {
    part.count = static_cast<std::int64_t>(edges);
    naming_array(key + (rows ? "[0]" : "[:, 0]"), [&] { read_npy_items(part, stream, ends.sources.data(), progress); });
    naming_array(key + (rows ? "[1]" : "[:, 1]"), [&] { read_npy_items(part, stream, ends.targets.data(), progress); });
    return ends;
  }
  constexpr std::size_t block_edges = npy_block_items / 2;
  std::vector<NodeId> block(2 * std::min(block_edges, edges));
  for (std::size_t done = 0; done < edges;) {
    const std::size_t some = std::min(block_edges, edges - done);
    part.count = static_cast<std::int64_t>(2 * some);
    naming_array(key, [&] { read_npy_items(part, stream, block.data(), {}); });
    for (std::size_t k = 0; k < some; ++k) {
      ends.sources[done + k] = block[2 * k];
      ends.targets[done + k] = block[2 * k + 1];
    }
    done += some;
    if (progress) progress("reading", static_cast<std::int64_t>(done), static_cast<std::int64_t>(edges));
  }
  return ends;
}

}  // namespace weft::io
