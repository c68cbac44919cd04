// What a path that is to be written stands for: a file that may be replaced, or something that must stay what it is.
#pragma once

#include <string>

namespace weft::io {

struct OutputTarget {
  std::string path;       // behind symbolic links, whether a file is there or not
  bool in_place = false;  // a terminal, a pipe, an open file of a process: written to, and never replaced
  int descriptor = -1;    // where it is one of this process: /dev/stdout, /dev/fd/3
  unsigned mode = 0;      // of a file that is there: its permissions
  bool exists = false;
};

/// An Error (io) for folders, for what cannot be written to as a stream of bytes, and for links in a circle.
OutputTarget output_target(const std::string& path);

}  // namespace weft::io
