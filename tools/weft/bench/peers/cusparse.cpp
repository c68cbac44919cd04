// cuSPARSE through its host interface: every algorithm it has for SpMM and SpMV, and SDDMM.
#include <fmt/format.h>

#include <array>
#include <limits>
#include <vector>

#include "bench/cuda/measure.hpp"
#include "bench/peers/cusparse_functions.hpp"
#include "bench/peers/peer.hpp"
#include "core/check.hpp"
#include "core/cuda/check.hpp"
#include "core/device.hpp"
#include "weft/tensor.hpp"

namespace weft::tool {
namespace {

const CusparseFunctions& cusparse() { return CusparseFunctions::get(); }

void check(cusparseStatus_t status, std::string_view doing) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  ErrorCode code = ErrorCode::device;
  switch (status) {
    case CUSPARSE_STATUS_NOT_SUPPORTED:
    case CUSPARSE_STATUS_INVALID_VALUE:
    case CUSPARSE_STATUS_ARCH_MISMATCH:
    case CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED:
    case CUSPARSE_STATUS_INSUFFICIENT_RESOURCES: code = ErrorCode::unsupported; break;
    case CUSPARSE_STATUS_ALLOC_FAILED: code = ErrorCode::out_of_memory; break;
    default: break;
  }
  fail(code, "{} ({}) from {}", cusparse().get_error_string(status), cusparse().get_error_name(status), doing);
}

struct Destroy {
  void operator()(cusparseContext* handle) const { cusparse().destroy(handle); }
  void operator()(cusparseSpMatDescr* matrix) const { cusparse().destroy_spmat(matrix); }
  void operator()(cusparseDnMatDescr* matrix) const { cusparse().destroy_dnmat(matrix); }
  void operator()(cusparseDnVecDescr* vector) const { cusparse().destroy_dnvec(vector); }
};
template <class T>
using Owned = std::unique_ptr<T, Destroy>;

cudaDataType data_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16: return CUDA_R_16F;
    case Dtype::bf16: return CUDA_R_16BF;
    case Dtype::f64: return CUDA_R_64F;
    default: return CUDA_R_32F;
  }
}

// cuSPARSE wants offsets and columns of one type.
DeviceBuffer narrow_offsets(const PeerProblem& p) {
  const auto count = static_cast<std::size_t>(p.graph.num_rows) + 1;
  std::vector<EdgeId> wide(count);
  copy_bytes({}, wide.data(), p.device, p.graph.offsets, count * sizeof(EdgeId), p.stream);
  const std::vector<std::int32_t> narrow(wide.begin(), wide.end());
  DeviceBuffer offsets(p.device, p.stream, count * sizeof(std::int32_t), "cuSPARSE's row offsets");
  copy_bytes(p.device, offsets.data(), {}, narrow.data(), count * sizeof(std::int32_t), p.stream);
  return offsets;
}

/// What the algorithms have in common for one problem; made for the first of them.
struct Common {
  Owned<cusparseContext> handle;
  DeviceBuffer offsets;
  Tensor ones;  // where the problem has no edge values

  void make_for(const PeerProblem& p) {
    if (handle != nullptr) return;
    const weft::cuda::OnDevice on(p.device.index);
    cusparseHandle_t raw = nullptr;
    check(cusparse().create(&raw), "cusparseCreate");
    Owned<cusparseContext> made(raw);
    check(cusparse().set_stream(raw, p.stream), "cusparseSetStream");
    offsets = narrow_offsets(p);
    if (p.edge == nullptr && p.kind != OpKind::sddmm) {
      const std::vector<float> values(static_cast<std::size_t>(p.graph.num_edges), 1.0f);
      ones = Tensor::from(values, Shape(p.graph.num_edges), p.dtype).to(p.device, p.stream);
    }
    handle = std::move(made);
  }
};

struct Method {
  std::string_view name;
  bool coo = false;
  int algorithm = 0;
};
constexpr std::array spmm_methods{
    Method{"csr", false, CUSPARSE_SPMM_ALG_DEFAULT}, Method{"csr-1", false, CUSPARSE_SPMM_CSR_ALG1},
    Method{"csr-2", false, CUSPARSE_SPMM_CSR_ALG2},  Method{"csr-3", false, CUSPARSE_SPMM_CSR_ALG3},
    Method{"coo-1", true, CUSPARSE_SPMM_COO_ALG1},   Method{"coo-2", true, CUSPARSE_SPMM_COO_ALG2},
    Method{"coo-3", true, CUSPARSE_SPMM_COO_ALG3},   Method{"coo-4", true, CUSPARSE_SPMM_COO_ALG4}};
constexpr std::array spmv_methods{
    Method{"csr", false, CUSPARSE_SPMV_ALG_DEFAULT}, Method{"csr-1", false, CUSPARSE_SPMV_CSR_ALG1},
    Method{"csr-2", false, CUSPARSE_SPMV_CSR_ALG2}, Method{"coo-1", true, CUSPARSE_SPMV_COO_ALG1},
    Method{"coo-2", true, CUSPARSE_SPMV_COO_ALG2}};
constexpr std::array sddmm_methods{Method{"csr", false, CUSPARSE_SDDMM_ALG_DEFAULT}};

class CusparsePeer : public Peer {
 public:
  CusparsePeer(std::shared_ptr<Common> common, const PeerProblem& problem, const Method& method)
      : common_(std::move(common)), problem_(problem), method_(method) {
    const GraphView& g = problem.graph;
    const std::int64_t size = problem.kind == OpKind::sddmm ? g.num_edges : g.num_rows * problem.width;
    const std::size_t bytes = static_cast<std::size_t>(size) * size_of(problem.dtype);
    out_ = DeviceBuffer(problem.device, problem.stream, bytes, "cuSPARSE's result");
    cuda_poison(problem.device.index, problem.stream, out_.data(), bytes);
  }

  void prepare() override {
    const weft::cuda::OnDevice on(problem_.device.index);
    describe();
    std::size_t bytes = 0;
    check(ask_buffer(&bytes), "its bufferSize");
    buffer_ = DeviceBuffer(problem_.device, problem_.stream, bytes, "cuSPARSE's buffer");
    check(preprocess(), "its preprocess");
  }
  void run() override {
    const weft::cuda::OnDevice on(problem_.device.index);
    check(compute(), "its run");
  }
  const void* result() override { return out_.data(); }

 protected:
  virtual void describe() = 0;
  virtual cusparseStatus_t ask_buffer(std::size_t* bytes) = 0;
  virtual cusparseStatus_t preprocess() = 0;
  virtual cusparseStatus_t compute() = 0;

  cusparseHandle_t handle() const { return common_->handle.get(); }
  const GraphView& graph() const { return problem_.graph; }
  const PeerProblem& problem() const { return problem_; }
  cudaDataType type() const { return data_type(problem_.dtype); }
  // Half precision is accumulated in f32, as weft does.
  cudaDataType computed() const { return problem_.dtype == Dtype::f64 ? CUDA_R_64F : CUDA_R_32F; }
  const void* one() const { return scalar(one64_, one32_); }
  const void* zero() const { return scalar(zero64_, zero32_); }
  void* buffer() const { return buffer_.data(); }
  void* out() const { return out_.data(); }
  template <class Algorithm>
  Algorithm algorithm() const {
    return static_cast<Algorithm>(method_.algorithm);
  }

  Owned<cusparseSpMatDescr> sparse(const void* values) const {
    const GraphView& g = graph();
    cusparseSpMatDescr_t made = nullptr;
    auto* cols = const_cast<NodeId*>(g.cols);
    if (method_.coo)
      check(cusparse().create_coo(&made, g.num_rows, g.num_cols, g.num_edges, const_cast<NodeId*>(g.rows), cols,
                                  const_cast<void*>(values), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type()),
            "cusparseCreateCoo");
    else
      check(cusparse().create_csr(&made, g.num_rows, g.num_cols, g.num_edges, common_->offsets.data(), cols,
                                  const_cast<void*>(values), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                  CUSPARSE_INDEX_BASE_ZERO, type()),
            "cusparseCreateCsr");
    return Owned<cusparseSpMatDescr>(made);
  }
  Owned<cusparseSpMatDescr> weights() const {
    return sparse(problem_.edge != nullptr ? problem_.edge : common_->ones.view().data);
  }
  /// Memory of `rows` rows of `width` each, seen as a matrix of that order.
  Owned<cusparseDnMatDescr> dense(std::int64_t rows, const void* data, cusparseOrder_t order) const {
    const std::int64_t width = problem_.width;
    cusparseDnMatDescr_t made = nullptr;
    const bool by_row = order == CUSPARSE_ORDER_ROW;
    check(cusparse().create_dnmat(&made, by_row ? rows : width, by_row ? width : rows, width, const_cast<void*>(data),
                                  type(), order),
          "cusparseCreateDnMat");
    return Owned<cusparseDnMatDescr>(made);
  }
  Owned<cusparseDnVecDescr> vector(std::int64_t size, const void* data) const {
    cusparseDnVecDescr_t made = nullptr;
    check(cusparse().create_dnvec(&made, size, const_cast<void*>(data), type()), "cusparseCreateDnVec");
    return Owned<cusparseDnVecDescr>(made);
  }

 private:
  const void* scalar(const double& wide, const float& narrow) const {
    return problem_.dtype == Dtype::f64 ? static_cast<const void*>(&wide) : &narrow;
  }

  std::shared_ptr<Common> common_;
  PeerProblem problem_;
  Method method_;
  DeviceBuffer out_, buffer_;
  double one64_ = 1, zero64_ = 0;
  float one32_ = 1, zero32_ = 0;
};

constexpr auto as_it_is = CUSPARSE_OPERATION_NON_TRANSPOSE;

class CusparseSpmm final : public CusparsePeer {
 public:
  using CusparsePeer::CusparsePeer;

 private:
  void describe() override {
    a_ = weights();
    x_ = dense(graph().num_cols, problem().x, CUSPARSE_ORDER_ROW);
    y_ = dense(graph().num_rows, out(), CUSPARSE_ORDER_ROW);
  }
  cusparseStatus_t ask_buffer(std::size_t* bytes) override {
    return cusparse().spmm_buffer_size(handle(), as_it_is, as_it_is, one(), a_.get(), x_.get(), zero(), y_.get(),
                                       computed(), algorithm<cusparseSpMMAlg_t>(), bytes);
  }
  cusparseStatus_t preprocess() override {
    return cusparse().spmm_preprocess(handle(), as_it_is, as_it_is, one(), a_.get(), x_.get(), zero(), y_.get(),
                                      computed(), algorithm<cusparseSpMMAlg_t>(), buffer());
  }
  cusparseStatus_t compute() override {
    return cusparse().spmm(handle(), as_it_is, as_it_is, one(), a_.get(), x_.get(), zero(), y_.get(), computed(),
                           algorithm<cusparseSpMMAlg_t>(), buffer());
  }

  Owned<cusparseSpMatDescr> a_;
  Owned<cusparseDnMatDescr> x_, y_;
};

class CusparseSpmv final : public CusparsePeer {
 public:
  using CusparsePeer::CusparsePeer;

 private:
  void describe() override {
    a_ = weights();
    x_ = vector(graph().num_cols, problem().x);
    y_ = vector(graph().num_rows, out());
  }
  cusparseStatus_t ask_buffer(std::size_t* bytes) override {
    return cusparse().spmv_buffer_size(handle(), as_it_is, one(), a_.get(), x_.get(), zero(), y_.get(), computed(),
                                       algorithm<cusparseSpMVAlg_t>(), bytes);
  }
  cusparseStatus_t preprocess() override {
#if CUSPARSE_VERSION >= 12300
    return cusparse().spmv_preprocess(handle(), as_it_is, one(), a_.get(), x_.get(), zero(), y_.get(), computed(),
                                      algorithm<cusparseSpMVAlg_t>(), buffer());
#else
    return CUSPARSE_STATUS_SUCCESS;
#endif
  }
  cusparseStatus_t compute() override {
    return cusparse().spmv(handle(), as_it_is, one(), a_.get(), x_.get(), zero(), y_.get(), computed(),
                           algorithm<cusparseSpMVAlg_t>(), buffer());
  }

  Owned<cusparseSpMatDescr> a_;
  Owned<cusparseDnVecDescr> x_, y_;
};

class CusparseSddmm final : public CusparsePeer {
 public:
  using CusparsePeer::CusparsePeer;

 private:
  // Rows times columns: the sources' rows read as the columns of a matrix in column order, the layout its page
  // recommends.
  void describe() override {
    rows_ = dense(graph().num_rows, problem().y, CUSPARSE_ORDER_ROW);
    cols_ = dense(graph().num_cols, problem().x, CUSPARSE_ORDER_COL);
    out_matrix_ = sparse(out());
  }
  cusparseStatus_t ask_buffer(std::size_t* bytes) override {
    return cusparse().sddmm_buffer_size(handle(), as_it_is, as_it_is, one(), rows_.get(), cols_.get(), zero(),
                                        out_matrix_.get(), computed(), algorithm<cusparseSDDMMAlg_t>(), bytes);
  }
  cusparseStatus_t preprocess() override {
    return cusparse().sddmm_preprocess(handle(), as_it_is, as_it_is, one(), rows_.get(), cols_.get(), zero(),
                                       out_matrix_.get(), computed(), algorithm<cusparseSDDMMAlg_t>(), buffer());
  }
  cusparseStatus_t compute() override {
    return cusparse().sddmm(handle(), as_it_is, as_it_is, one(), rows_.get(), cols_.get(), zero(), out_matrix_.get(),
                            computed(), algorithm<cusparseSDDMMAlg_t>(), buffer());
  }

  Owned<cusparseDnMatDescr> rows_, cols_;
  Owned<cusparseSpMatDescr> out_matrix_;
};

std::unique_ptr<Peer> make(const std::shared_ptr<Common>& common, const PeerProblem& problem, const Method& method) {
  WEFT_CHECK(problem.graph.num_edges <= std::numeric_limits<std::int32_t>::max(), unsupported,
             "{} edges: cuSPARSE takes offsets of the columns' type, 32 bits", problem.graph.num_edges);
  common->make_for(problem);
  switch (problem.kind) {
    case OpKind::spmm: return std::make_unique<CusparseSpmm>(common, problem, method);
    case OpKind::spmv: return std::make_unique<CusparseSpmv>(common, problem, method);
    case OpKind::sddmm: return std::make_unique<CusparseSddmm>(common, problem, method);
    default: return nullptr;
  }
}

std::string version_text() {
  int major = 0, minor = 0, patch = 0;
  cusparse().get_property(MAJOR_VERSION, &major);
  cusparse().get_property(MINOR_VERSION, &minor);
  cusparse().get_property(PATCH_LEVEL, &patch);
  return fmt::format("{}.{}.{}", major, minor, patch);
}

}  // namespace

PeerVersion cusparse_version() {
  try {
    return {"cusparse", version_text(), DeviceKind::cuda};
  } catch (const Error&) {  // weft doctor runs without it; whoever asks for the peer hears why it cannot be had
    return {"cusparse", "not found", DeviceKind::cuda};
  }
}

std::vector<PeerLibrary> cusparse_libraries(OpKind kind) {
  std::vector<PeerLibrary> libraries;
  const auto common = std::make_shared<Common>();
  const auto add = [&](const auto& methods) {
    for (const Method& method : methods)
      libraries.push_back({fmt::format("cusparse {}", method.name), version_text(),
                           [common, method](const PeerProblem& problem) { return make(common, problem, method); }});
  };
  if (kind == OpKind::spmm) add(spmm_methods);
  if (kind == OpKind::spmv) add(spmv_methods);
  if (kind == OpKind::sddmm) add(sddmm_methods);
  return libraries;
}

}  // namespace weft::tool
