// Graph files. One reader and one writer a format behind one interface; the format is recognised
// from the content first and the name second. A write goes to a temporary file and is renamed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/graph.hpp"
#include "weft/progress.hpp"
#include "weft/tensor.hpp"

namespace weft {

/// A graph as a file holds it.
struct GraphFile {
  Graph graph;
  Tensor values;       // one value per edge by id, or none
  std::string name;    // the file's name without folder and endings, or the generator's SPEC
  std::string format;  // "weft", "npz", "mtx", "planetoid", ..., "generated", "built in"
  std::string note;    // what a reader should say to a person: "synthetic stand-in for ..."; one printable line
};

struct ReadOptions {
  Progress progress = {};
  /// Checks every index and every checksum. `trusted` opens a .weft file without touching its arrays.
  Validate validate = Validate::full;
  /// Leaves out features, labels and splits where that saves reading them.
  bool graph_only = false;
};

/// The graph of a file or folder in any supported format; dataset.hpp has the rest of it.
GraphFile read_graph(const std::string& path, const ReadOptions& options = {});
/// The same of a path, a generator's SPEC or a name: what the command line takes as GRAPH.
GraphFile open_graph(const std::string& source, const ReadOptions& options = {});
/// The format is taken from the name: .weft, .npz, .mtx, .mtx.gz. The note is written too, cut to 1000 bytes of
/// printable UTF-8 in one line.
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
