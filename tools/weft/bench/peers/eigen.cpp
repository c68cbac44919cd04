// Eigen: sparse times dense with its own OpenMP loop, and for sddmm its dot product per edge.
#include <fmt/format.h>
#include <Eigen/Sparse>

#include <limits>
#include <type_traits>

#include "bench/peers/peer.hpp"
#include "core/memory.hpp"
#include "core/parallel.hpp"

namespace weft::tool {
namespace {

template <class T>
using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

template <class T>
class EigenSpmm final : public Peer {
 public:
  explicit EigenSpmm(const PeerProblem& problem)
      : problem_(problem),
        offsets_(static_cast<std::size_t>(problem.graph.num_rows) + 1, "Eigen's row offsets"),
        ones_(problem.edge == nullptr ? static_cast<std::size_t>(problem.graph.num_edges) : 0, "Eigen's ones"),
        out_(static_cast<std::size_t>(problem.graph.num_rows * problem.width), "Eigen's result") {
    for (std::size_t i = 0; i < offsets_.size(); ++i) offsets_[i] = static_cast<int>(problem.graph.offsets[i]);
    for (T& one : ones_) one = T(1);
  }

  void run() override {
    Eigen::setNbThreads(problem_.threads);
    const GraphView& g = problem_.graph;
    const T* values = problem_.edge != nullptr ? static_cast<const T*>(problem_.edge) : ones_.data();
    const Eigen::Map<const Eigen::SparseMatrix<T, Eigen::RowMajor, int>> a(g.num_rows, g.num_cols, g.num_edges,
                                                                           offsets_.data(), g.cols, values);
    if (problem_.kind == OpKind::spmv) {
      const Eigen::Map<const Vector<T>> x(static_cast<const T*>(problem_.x), g.num_cols);
      Eigen::Map<Vector<T>>(out_.data(), g.num_rows).noalias() = a * x;
    } else {
      const Eigen::Map<const Dense<T>> x(static_cast<const T*>(problem_.x), g.num_cols, problem_.width);
      Eigen::Map<Dense<T>>(out_.data(), g.num_rows, problem_.width).noalias() = a * x;
    }
  }
  const void* result() override { return out_.data(); }

 private:
  PeerProblem problem_;
  Buffer<int> offsets_;
  Buffer<T> ones_, out_;
};

template <class T>
class EigenSddmm final : public Peer {
 public:
  explicit EigenSddmm(const PeerProblem& problem)
      : problem_(problem), out_(static_cast<std::size_t>(problem.graph.num_edges), "Eigen's result") {}

  void run() override {
    const GraphView& g = problem_.graph;
    const Eigen::Map<const Dense<T>> x(static_cast<const T*>(problem_.x), g.num_cols, problem_.width);
    const Eigen::Map<const Dense<T>> y(static_cast<const T*>(problem_.y), g.num_rows, problem_.width);
    // By edges, as Eigen's own row loop would leave one thread with the hub.
    constexpr std::int64_t edges_a_task = 4096;
    const std::int64_t tasks = (g.num_edges + edges_a_task - 1) / edges_a_task;
    parallel_tasks(problem_.threads, tasks, [&](std::int64_t task, int) {
      const EdgeId begin = task * edges_a_task, end = std::min(g.num_edges, begin + edges_a_task);
      std::int64_t row = std::upper_bound(g.offsets, g.offsets + g.num_rows + 1, begin) - g.offsets - 1;
      for (EdgeId k = begin; k < end; ++k) {
        while (k >= g.offsets[row + 1]) ++row;
        out_[static_cast<std::size_t>(k)] = x.row(g.cols[k]).dot(y.row(row));
      }
    });
  }
  const void* result() override { return out_.data(); }

 private:
  PeerProblem problem_;
  Buffer<T> out_;
};

template <class T>
std::unique_ptr<Peer> make_typed(const PeerProblem& problem) {
  if (problem.kind == OpKind::sddmm) return std::make_unique<EigenSddmm<T>>(problem);
  if (problem.kind != OpKind::spmm && problem.kind != OpKind::spmv) return nullptr;
  // One index type for offsets and columns: 32 bits is the faster, and all its Map can share with weft.
  if (problem.graph.num_edges > std::numeric_limits<int>::max()) return nullptr;
  return std::make_unique<EigenSpmm<T>>(problem);
}

std::unique_ptr<Peer> make(const PeerProblem& problem) {
  if (problem.dtype == Dtype::f32) return make_typed<float>(problem);
  if (problem.dtype == Dtype::f64) return make_typed<double>(problem);
  return nullptr;
}

}  // namespace

PeerLibrary eigen_library() {
  // With the vectors it was compiled for, which WEFT_PEERS_NATIVE decides: a reader must see them.
  return {"eigen",
          fmt::format("{}.{}.{} ({})", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION,
                      Eigen::SimdInstructionSetsInUse()),
          make};
}

}  // namespace weft::tool
