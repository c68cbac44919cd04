// Intel's oneMKL: inspector-executor sparse times dense, with its hints given and its optimisation run.
#include <fmt/format.h>
#include <mkl.h>
#include <mkl_spblas.h>

#include <limits>
#include <type_traits>
#include <vector>

#include "bench/peers/peer.hpp"
#include "core/check.hpp"
#include "core/memory.hpp"

namespace weft::tool {
namespace {

void check(sparse_status_t status, const char* call) {
  WEFT_CHECK(status == SPARSE_STATUS_SUCCESS, internal, "MKL: {} returned {}", call, static_cast<int>(status));
}

matrix_descr general() {
  matrix_descr description{};
  description.type = SPARSE_MATRIX_TYPE_GENERAL;
  return description;
}

template <class T>
class MklSpmm final : public Peer {
 public:
  explicit MklSpmm(const PeerProblem& problem)
      : problem_(problem), out_(static_cast<std::size_t>(problem.graph.num_rows * problem.width), "MKL's result") {
    const GraphView& g = problem.graph;
    offsets_.assign(g.offsets, g.offsets + g.num_rows + 1);
    cols_.assign(g.cols, g.cols + g.num_edges);
    const auto* edge = static_cast<const T*>(problem.edge);
    values_.resize(static_cast<std::size_t>(g.num_edges), T(1));
    if (edge != nullptr) values_.assign(edge, edge + g.num_edges);
    mkl_set_num_threads(problem.threads);
    const auto rows = static_cast<MKL_INT>(g.num_rows), cols = static_cast<MKL_INT>(g.num_cols);
    if constexpr (std::is_same_v<T, float>)
      check(mkl_sparse_s_create_csr(&matrix_, SPARSE_INDEX_BASE_ZERO, rows, cols, offsets_.data(), offsets_.data() + 1,
                                    cols_.data(), values_.data()),
            "mkl_sparse_s_create_csr");
    else
      check(mkl_sparse_d_create_csr(&matrix_, SPARSE_INDEX_BASE_ZERO, rows, cols, offsets_.data(), offsets_.data() + 1,
                                    cols_.data(), values_.data()),
            "mkl_sparse_d_create_csr");
    // Hints are advice: a library that declines them still multiplies.
    if (problem.kind == OpKind::spmv)
      mkl_sparse_set_mv_hint(matrix_, SPARSE_OPERATION_NON_TRANSPOSE, general(), 1000);
    else
      mkl_sparse_set_mm_hint(matrix_, SPARSE_OPERATION_NON_TRANSPOSE, general(), SPARSE_LAYOUT_ROW_MAJOR,
                             static_cast<MKL_INT>(problem.width), 1000);
    mkl_sparse_optimize(matrix_);
  }
  ~MklSpmm() override { mkl_sparse_destroy(matrix_); }

  void run() override {
    const auto* x = static_cast<const T*>(problem_.x);
    const auto width = static_cast<MKL_INT>(problem_.width);
    constexpr auto plain = SPARSE_OPERATION_NON_TRANSPOSE;
    constexpr auto by_row = SPARSE_LAYOUT_ROW_MAJOR;
    const bool vector = problem_.kind == OpKind::spmv;
    if constexpr (std::is_same_v<T, float>)
      check(vector
                ? mkl_sparse_s_mv(plain, 1.0f, matrix_, general(), x, 0.0f, out_.data())
                : mkl_sparse_s_mm(plain, 1.0f, matrix_, general(), by_row, x, width, width, 0.0f, out_.data(), width),
            "mkl_sparse_s_mm");
    else
      check(vector ? mkl_sparse_d_mv(plain, 1.0, matrix_, general(), x, 0.0, out_.data())
                   : mkl_sparse_d_mm(plain, 1.0, matrix_, general(), by_row, x, width, width, 0.0, out_.data(), width),
            "mkl_sparse_d_mm");
  }
  const void* result() override { return out_.data(); }

 private:
  PeerProblem problem_;
  std::vector<MKL_INT> offsets_, cols_;
  std::vector<T> values_;
  Buffer<T> out_;
  sparse_matrix_t matrix_ = nullptr;
};

std::unique_ptr<Peer> make(const PeerProblem& problem) {
  const GraphView& g = problem.graph;
  const bool has_op = problem.kind == OpKind::spmm || problem.kind == OpKind::spmv;
  if (!has_op || g.num_edges == 0 || g.num_edges > std::numeric_limits<MKL_INT>::max()) return nullptr;
  if (problem.dtype == Dtype::f32) return std::make_unique<MklSpmm<float>>(problem);
  if (problem.dtype == Dtype::f64) return std::make_unique<MklSpmm<double>>(problem);
  return nullptr;
}

}  // namespace

PeerLibrary mkl_library() {
  MKLVersion version{};
  mkl_get_version(&version);
  return {"mkl", fmt::format("{}.{}.{}", version.MajorVersion, version.MinorVersion, version.UpdateVersion), make};
}

}  // namespace weft::tool
