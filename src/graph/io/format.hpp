// What a graph format is to the rest of weft. Readers and writers throw Errors that say what is wrong
// and where inside the file; read_graph and write_graph put the file's name in front.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/in_quotes.hpp"
#include "graph/io/atomic_writer.hpp"
#include "graph/io/folder.hpp"
#include "graph/io/source.hpp"
#include "weft/dataset.hpp"

namespace weft::io {

/// What is written. The note is clean, and empty for none.
struct Contents {
  const Graph& graph;
  ConstTensorView values;
  std::string_view note;
  const Dataset* dataset = nullptr;  // the rest, where there is any
};

/// A layout of one file, of a folder, or both; what a layout has not is null. Readers fill all but name and format.
struct Format {
  std::string_view name;
  std::vector<std::string_view> endings = {};
  std::string_view description;
  /// Whether the content is this format's; cheap, and never an Error. It is shown the first 64 KiB, with the file they
  /// are of; of a packed file those it unpacks to, and all where no format that `unpacks` knows them.
  bool (*sniff)(const Source& source) = nullptr;
  Dataset (*read)(const Source& source, const ReadOptions& options) = nullptr;
  void (*write)(AtomicWriter& out, const Contents& contents, const Progress& progress) = nullptr;
  bool (*sniff_folder)(const Folder& folder) = nullptr;
  Dataset (*read_folder)(const Folder& folder, const ReadOptions& options) = nullptr;
  /// Whether `read` takes the file as it is, packed or not, through TextBlocks; such a reader is shown no bytes. Others
  /// get a file that is not packed, or the content of one that was.
  bool unpacks = false;
};

const Format& weft_format();
const Format& npz_format();
const Format& npy_format();
const Format& mtx_format();
const Format& csr_format();
// Of datasets, in src/graph/dataset:
const Format& planetoid_format();
const Format& npz_dataset_format();
const Format& graphsaint_format();
const Format& reddit_format();
const Format& tu_format();
const Format& ogb_format();
const Format& metis_format();
const Format& edge_list_format();

/// Every format, in the order their contents are looked at.
std::span<const Format* const> formats();
/// The one whose layout a folder is in, or null.
const Format* format_of_folder(const Folder& folder);

/// Refuses counts no Graph can have; node ids are 32-bit.
void check_counts(std::int64_t rows, std::int64_t cols, std::int64_t edges);
/// For formats where nothing in the file grows with the number of nodes: a few bytes must not be able
/// to ask for gigabytes of row offsets.
void check_nodes_against_size(std::int64_t rows, std::int64_t cols, std::size_t file_bytes);

}  // namespace weft::io
