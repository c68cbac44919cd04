#include "dense/cpu/product.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dense/cpu/product.cpp"
#include <hwy/foreach_target.h>

#include "core/check.hpp"
#include "core/dispatch.hpp"
#include "dense/cpu/product-inl.hpp"
#include "kernels/cpu/target.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::dense::cpu::HWY_NAMESPACE {

void multiply(const ProductArgs& args, Arena arena) {
  with_floating(args.dtype, "a matrix", [&](auto tag) {
    using Storage = typename decltype(tag)::type;
    using Acc = AccumulatorOf<Storage>;
    if (args.c_dtype == args.dtype)
      Product<Storage, Storage>(args, arena).run();
    else
      Product<Storage, Acc>(args, arena).run();
  });
}

}  // namespace weft::dense::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::dense::cpu {
HWY_EXPORT(multiply);

std::size_t product_workspace(const ProductArgs& args) {
  if (args.m == 0 || args.n == 0) return 0;
  Arena counting;
  const ProductCut cut(args);
  if (args.dtype == Dtype::f64)
    ProductScratch<double>::take(counting, args, cut);
  else
    ProductScratch<float>::take(counting, args, cut);
  return counting.used();
}

void product(const ProductArgs& args, Arena arena) {
  weft::cpu::settle_target();
  if (args.m == 0 || args.n == 0) return;
  HWY_DYNAMIC_DISPATCH(multiply)(args, arena);
}
}  // namespace weft::dense::cpu
#endif
