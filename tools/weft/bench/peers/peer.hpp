// Other libraries given the same problem, the same memory and as many threads, or the same GPU. Which
// are here is decided when weft is built.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/context.hpp"
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
  const void* edge = nullptr;  // one value per edge; null: the matrix is all ones
  std::int64_t width = 1;
  int threads = 1;
  Device device;  // where all of it is, and the result will be
  CUstream_st* stream = nullptr;

  void on(const Context& context) {
    threads = context.threads();
    device = context.device();
    stream = context.stream();
  }
};

/// Holds the problem in the library's own form; building it is not timed.
class Peer {
 public:
  virtual ~Peer() = default;
  /// What the library does once a matrix before it can run, from the start at every call: descriptors, buffers,
  /// preprocessing. Must come before `run`; most have nothing to do.
  virtual void prepare() {}
  virtual void run() = 0;
  /// The last run's result, laid out like weft's.
  virtual const void* result() = 0;
};

/// A library, or one of its algorithms where it leaves the choice to the caller.
struct PeerLibrary {
  std::string name, version;
  /// Null where the library has nothing for the problem; an Error (unsupported) where it has, but not for this one.
  std::function<std::unique_ptr<Peer>(const PeerProblem& problem)> make;
};

/// Those compiled in that run on such a device and may have the operator.
std::vector<PeerLibrary> peer_libraries(DeviceKind device, OpKind kind);

struct PeerVersion {
  std::string name, version;
  DeviceKind device;
};
/// Every library compiled in, once.
std::vector<PeerVersion> peer_versions();

PeerLibrary eigen_library();
PeerLibrary graphblas_library();
PeerLibrary mkl_library();
/// An entry for each of its algorithms for the operator.
std::vector<PeerLibrary> cusparse_libraries(OpKind kind);
PeerVersion cusparse_version();

}  // namespace weft::tool
