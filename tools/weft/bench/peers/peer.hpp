// Other libraries given the same problem, the same memory and as many threads. Which are here is
// decided when weft is built.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/graph.hpp"
#include "weft/plan.hpp"
#include "weft/types.hpp"

namespace weft::tool {

struct PeerProblem {
  OpKind kind = OpKind::spmm;
  Dtype dtype = Dtype::f32;
  GraphView graph;             // ids in stored order
  const void* x = nullptr;     // [num_cols, width], contiguous
  const void* y = nullptr;     // sddmm: [num_rows, width]
  const void* edge = nullptr;  // one value an edge; null: the matrix is all ones
  std::int64_t width = 1;
  int threads = 1;
};

/// Holds the problem in the library's own form; building it is not timed.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual void run() = 0;
  /// The last run's result, laid out like weft's.
  virtual const void* result() = 0;
};

struct PeerLibrary {
  std::string name, version;
  /// Null where the library has nothing for the problem.
  std::unique_ptr<Peer> (*make)(const PeerProblem& problem);
};

/// Those compiled in.
std::vector<PeerLibrary> peer_libraries();

PeerLibrary eigen_library();
PeerLibrary graphblas_library();
PeerLibrary mkl_library();

}  // namespace weft::tool
