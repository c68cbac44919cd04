// Graph files. One interface covers a reader and a writer per format. A format is recognised by its content first and
// its name second. Writers write to a temporary file and rename it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/graph.hpp"
#include "weft/progress.hpp"
#include "weft/tensor.hpp"

namespace weft {

/// The contents of a graph file.
struct GraphFile {
  Graph graph;
  Tensor values;       // one value per edge by id, or none
  std::string name;    // the file's name without folder and extensions, or the generator's SPEC
  std::string format;  // "weft", "npz", "mtx", "planetoid", ..., "generated", "built in"
  std::string note;    // to show to a person: "synthetic stand-in for ..."; one printable line
};

struct ReadOptions {
  Progress progress = {};
  /// `full` checks every index and every checksum. `trusted` opens a .weft file without reading its arrays.
  Validate validate = Validate::full;
  /// Skips features, labels and splits where that saves reading them.
  bool graph_only = false;
};

/// Reads the graph of a file or folder in any supported format; read_dataset (dataset.hpp) also reads the rest.
GraphFile read_graph(const std::string& path, const ReadOptions& options = {});
/// The same for what the command line accepts as GRAPH: a path, a generator's SPEC or a name.
GraphFile open_graph(const std::string& source, const ReadOptions& options = {});
/// Writes a graph in the format of the path's extension: .weft, .npz, .mtx, .mtx.gz. The note is written too, cut to
/// 1000 bytes of printable UTF-8 on one line.
void write_graph(const std::string& path, const Graph& graph, ConstTensorView values = {},
                 const Progress& progress = {}, std::string_view note = {});

struct GraphFormat {
  std::string_view name;
  std::vector<std::string_view> endings;
  bool readable = true, writable = true;
  std::string_view description;
};
std::vector<GraphFormat> graph_formats();

}  // namespace weft
