// SuiteSparse:GraphBLAS. The fastest of its calls for sparse times dense is the in-place one,
// C += A * X with C full and held by row (2 to 3 times faster than C = A * X, which first makes C
// sparse): so C is cleared and that is what runs. X and C are packed, not copied.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <memory>

// Its header leaves the linkage to C++ callers; what it includes must come before.
#include <cmath>
#include <complex>
extern "C" {
#include <GraphBLAS.h>
}

#include "bench/peers/peer.hpp"
#include "core/check.hpp"
#include "core/parallel.hpp"

namespace weft::tool {
namespace {

void check(GrB_Info info, const char* call) {
  WEFT_CHECK(info == GrB_SUCCESS, internal, "GraphBLAS: {} returned {}", call, static_cast<int>(info));
}

void initialise() {
  static const GrB_Info info = GrB_init(GrB_NONBLOCKING);
  check(info, "GrB_init");
}

template <class T>
struct Names;
template <>
struct Names<float> {
  static GrB_Type type() { return GrB_FP32; }
  static GrB_BinaryOp plus() { return GrB_PLUS_FP32; }
  static GrB_Semiring times() { return GrB_PLUS_TIMES_SEMIRING_FP32; }
  static GrB_Semiring second() { return GxB_PLUS_SECOND_FP32; }
};
template <>
struct Names<double> {
  static GrB_Type type() { return GrB_FP64; }
  static GrB_BinaryOp plus() { return GrB_PLUS_FP64; }
  static GrB_Semiring times() { return GrB_PLUS_TIMES_SEMIRING_FP64; }
  static GrB_Semiring second() { return GxB_PLUS_SECOND_FP64; }
};

// Memory GraphBLAS may take over and give back must come from malloc.
template <class T>
T* take(std::size_t count) {
  void* memory = std::malloc(count > 0 ? count * sizeof(T) : 1);
  WEFT_CHECK(memory != nullptr, out_of_memory, "out of memory: {} elements asked for GraphBLAS's copy of the graph",
             count);
  return static_cast<T*>(memory);
}

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

class Matrix {
 public:
  Matrix() = default;
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  ~Matrix() { GrB_Matrix_free(&handle_); }
  void make(GrB_Type type, std::int64_t rows, std::int64_t cols) {
    check(GrB_Matrix_new(&handle_, type, static_cast<GrB_Index>(rows), static_cast<GrB_Index>(cols)), "GrB_Matrix_new");
    check(GxB_Matrix_Option_set(handle_, GxB_FORMAT, GxB_BY_ROW), "GxB_Matrix_Option_set");
  }
  operator GrB_Matrix() const { return handle_; }

 private:
  GrB_Matrix handle_ = nullptr;
};

template <class T>
class GraphBlasSpmm final : public Peer {
 public:
  explicit GraphBlasSpmm(const PeerProblem& problem) : problem_(problem) {
    initialise();
    const GraphView& g = problem.graph;
    a_.make(Names<T>::type(), g.num_rows, g.num_cols);
    x_.make(Names<T>::type(), g.num_cols, problem.width);
    c_.make(Names<T>::type(), g.num_rows, problem.width);
    pack_graph();
    out_.reset(take<T>(out_size()));
    // Last: from here on X must be taken back before its matrix is freed.
    x_data_ = const_cast<void*>(problem.x);
    const GrB_Index x_bytes = static_cast<GrB_Index>(g.num_cols * problem.width) * sizeof(T);
    check(GxB_Matrix_pack_FullR(x_, &x_data_, x_bytes, false, nullptr), "GxB_Matrix_pack_FullR");
  }
  ~GraphBlasSpmm() override {
    GrB_Index bytes = 0;
    bool iso = false;
    GxB_Matrix_unpack_FullR(x_, &x_data_, &bytes, &iso, nullptr);
  }

  void run() override {
    check(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, problem_.threads), "GxB_Global_Option_set");
    parallel_ranges(problem_.threads, static_cast<std::int64_t>(out_size()), 1 << 15,
                    [&](std::int64_t begin, std::int64_t end) {
                      std::memset(out_.get() + begin, 0, static_cast<std::size_t>(end - begin) * sizeof(T));
                    });
    void* data = out_.get();
    GrB_Index bytes = out_size() * sizeof(T);
    bool iso = false;
    check(GxB_Matrix_pack_FullR(c_, &data, bytes, false, nullptr), "GxB_Matrix_pack_FullR");
    (void)out_.release();
    check(
        GrB_mxm(c_, nullptr, Names<T>::plus(), pattern_only_ ? Names<T>::second() : Names<T>::times(), a_, x_, nullptr),
        "GrB_mxm");
    check(GrB_Matrix_wait(c_, GrB_MATERIALIZE), "GrB_Matrix_wait");
    check(GxB_Matrix_unpack_FullR(c_, &data, &bytes, &iso, nullptr), "GxB_Matrix_unpack_FullR");
    out_.reset(static_cast<T*>(data));
  }
  const void* result() override { return out_.get(); }

 private:
  std::size_t out_size() const { return static_cast<std::size_t>(problem_.graph.num_rows * problem_.width); }

  // GraphBLAS knows no parallel edges: those become one whose value is their sum, which is the same product.
  void pack_graph() {
    const GraphView& g = problem_.graph;
    const auto* edge = static_cast<const T*>(problem_.edge);
    auto* offsets = take<GrB_Index>(static_cast<std::size_t>(g.num_rows) + 1);
    auto* cols = take<GrB_Index>(static_cast<std::size_t>(g.num_edges));
    auto* values = take<T>(static_cast<std::size_t>(g.num_edges) + 1);
    GrB_Index count = 0;
    bool merged = false;
    offsets[0] = 0;
    for (std::int64_t v = 0; v < g.num_rows; ++v) {
      for (EdgeId k = g.offsets[v]; k < g.offsets[v + 1]; ++k) {
        const auto col = static_cast<GrB_Index>(g.cols[k]);
        const T value = edge != nullptr ? edge[k] : T(1);
        if (count > offsets[v] && cols[count - 1] == col) {
          values[count - 1] += value;
          merged = true;
          continue;
        }
        cols[count] = col;
        values[count++] = value;
      }
      offsets[v + 1] = count;
    }
    pattern_only_ = edge == nullptr && !merged;
    if (pattern_only_) values[0] = T(1);
    void* data = values;
    check(GxB_Matrix_pack_CSR(a_, &offsets, &cols, &data, (static_cast<GrB_Index>(g.num_rows) + 1) * sizeof(GrB_Index),
                              static_cast<GrB_Index>(g.num_edges) * sizeof(GrB_Index),
                              (static_cast<GrB_Index>(g.num_edges) + 1) * sizeof(T), pattern_only_, false, nullptr),
          "GxB_Matrix_pack_CSR");
  }

  PeerProblem problem_;
  Matrix a_, x_, c_;
  void* x_data_ = nullptr;
  std::unique_ptr<T[], Free> out_;
  bool pattern_only_ = false;
};

bool rows_are_sorted(const GraphView& g) {
  for (std::int64_t v = 0; v < g.num_rows; ++v)
    for (EdgeId k = g.offsets[v] + 1; k < g.offsets[v + 1]; ++k)
      if (g.cols[k] < g.cols[k - 1]) return false;
  return true;
}

std::unique_ptr<Peer> make(const PeerProblem& problem) {
  const bool has_op = problem.kind == OpKind::spmm || problem.kind == OpKind::spmv;
  const GraphView& g = problem.graph;
  if (!has_op || g.num_edges == 0 || g.num_rows == 0 || g.num_cols == 0 || !rows_are_sorted(g)) return nullptr;
  if (problem.dtype == Dtype::f32) return std::make_unique<GraphBlasSpmm<float>>(problem);
  if (problem.dtype == Dtype::f64) return std::make_unique<GraphBlasSpmm<double>>(problem);
  return nullptr;
}

}  // namespace

PeerLibrary graphblas_library() {
  return {"graphblas",
          fmt::format("{}.{}.{}", GxB_IMPLEMENTATION_MAJOR, GxB_IMPLEMENTATION_MINOR, GxB_IMPLEMENTATION_SUB), make};
}

}  // namespace weft::tool
