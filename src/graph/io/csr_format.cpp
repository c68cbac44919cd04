// Raw dumps of compressed rows, as the benchmark's generator makes them: little-endian int64 rows,
// cols, edges, then int32 offsets[rows + 1] and cols[edges]. Nothing marks the format but its size.
#include <limits>

#include "core/check.hpp"
#include "core/memory.hpp"
#include "core/parallel.hpp"
#include "graph/io/byte_order.hpp"
#include "graph/io/format.hpp"

namespace weft::io {
namespace {

constexpr std::size_t header_bytes = 3 * sizeof(std::int64_t);

struct Counts {
  std::int64_t rows, cols, edges;
};

Counts counts_of(const Source& source) { return load<Counts>(source.bytes.data()); }

bool plausible(const Counts& counts) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  return counts.rows >= 0 && counts.rows <= most && counts.cols >= 0 && counts.cols <= most && counts.edges >= 0 &&
         counts.edges <= most;
}

std::size_t bytes_for(const Counts& counts) {
  return header_bytes + sizeof(std::int32_t) * static_cast<std::size_t>(counts.rows + 1 + counts.edges);
}

bool sniff_csr(const Source& source) {
  if (source.bytes.size() < header_bytes) return false;
  const Counts counts = counts_of(source);
  return plausible(counts) && bytes_for(counts) == source.size();
}

struct Kept {
  Buffer<EdgeId> offsets;
  std::shared_ptr<const void> file;
};

Dataset read_csr(const Source& given, const ReadOptions& options) {
  Source source = given;
  load(source, options.progress);
  const std::size_t size = source.bytes.size();
  WEFT_CHECK(size >= header_bytes, invalid_file, "it has {} bytes: a .csr dump has at least {}", size, header_bytes);
  const Counts counts = counts_of(source);
  WEFT_CHECK(plausible(counts), invalid_file,
             "it declares {} rows, {} columns and {} edges: expected 0 to 2^31 - 1 each", counts.rows, counts.cols,
             counts.edges);
  WEFT_CHECK(bytes_for(counts) == size, invalid_file,
             "it declares {} rows and {} edges, which take {} bytes, but has {}", counts.rows, counts.edges,
             bytes_for(counts), size);
  const auto* offsets = reinterpret_cast<const std::int32_t*>(source.bytes.data() + header_bytes);
  const std::span cols(reinterpret_cast<const NodeId*>(offsets + counts.rows + 1),
                       static_cast<std::size_t>(counts.edges));
  auto kept = std::make_shared<Kept>();
  kept->offsets = Buffer<EdgeId>(static_cast<std::size_t>(counts.rows + 1), "row offsets");
  kept->file = source.keeper;
  parallel_ranges(default_threads(), counts.rows + 1, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) kept->offsets[static_cast<std::size_t>(i)] = offsets[i];
  });
  Dataset file;
  file.graph = Graph::adopt(counts.rows, counts.cols, {kept->offsets.data(), kept->offsets.size()}, cols, {}, kept,
                            Validate::full);
  return file;
}

}  // namespace

const Format& csr_format() {
  static const Format format{"csr", {".csr"}, "raw 32-bit compressed rows", &sniff_csr, &read_csr, nullptr};
  return format;
}

}  // namespace weft::io
