// What a graph format is to the rest of weft. Readers and writers throw Errors that say what is wrong
// and where inside the file; read_graph and write_graph put the file's name in front.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/io/atomic_writer.hpp"
#include "weft/io.hpp"

namespace weft::io {

/// A file's whole content in memory: mapped, or unpacked where the file was gzip.
struct Source {
  std::string path;
  std::span<const std::byte> bytes;    // 64-byte aligned
  std::shared_ptr<const void> keeper;  // keeps `bytes` alive

  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

struct Format {
  std::string_view name;
  std::vector<std::string_view> endings;
  std::string_view description;
  /// Whether the content is this format's; cheap, and never an Error.
  bool (*sniff)(const Source& source);
  /// Fills graph, values and note.
  GraphFile (*read)(const Source& source, const ReadOptions& options);
  /// Null where the format is only read. The note is clean, and empty for none.
  void (*write)(AtomicWriter& out, const Graph& graph, ConstTensorView values, std::string_view note,
                const Progress& progress);
};

const Format& weft_format();
const Format& npz_format();
const Format& mtx_format();
const Format& csr_format();

/// Every format, in the order their contents are looked at.
std::span<const Format* const> formats();

/// Text from a file as it may stand in a message: one line, printable, at most 40 characters.
std::string quoted(std::string_view text);

/// Refuses counts no Graph can have; node ids are 32-bit.
void check_counts(std::int64_t rows, std::int64_t cols, std::int64_t edges);
/// For formats where nothing in the file grows with the number of nodes: a few bytes must not be able
/// to ask for gigabytes of row offsets.
void check_nodes_against_size(std::int64_t rows, std::int64_t cols, std::size_t file_bytes);

}  // namespace weft::io
