#include "plan/scratch.hpp"

namespace weft {
namespace {

template <class Acc>
std::size_t bytes_in(const Plan& plan) {
  Arena counting;
  switch (plan.desc.kind) {
    case OpKind::sddmm: break;
    case OpKind::softmax: HeadScratch<Acc>::take(counting, plan); break;
    case OpKind::attention:
      RowScratch<Acc>::take(counting, plan);
      HeadScratch<Acc>::take(counting, plan);
      break;
    case OpKind::spmm:
    case OpKind::spmv:
    case OpKind::segment: RowScratch<Acc>::take(counting, plan); break;
  }
  return counting.used();
}

}  // namespace

std::size_t scratch_bytes(const Plan& plan) {
  return plan.desc.dtype == Dtype::f64 ? bytes_in<double>(plan) : bytes_in<float>(plan);
}

}  // namespace weft
