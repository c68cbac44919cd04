#include "dense/cpu/product.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dense/cpu/neighbour_product.cpp"
#include <hwy/foreach_target.h>

#include "core/check.hpp"
#include "core/dispatch.hpp"
#include "dense/cpu/neighbour_product-inl.hpp"
#include "kernels/cpu/target.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::dense::cpu::HWY_NAMESPACE {

void multiply_and_finish(const ProductArgs& args, const ProductFinish& finish, Arena arena) {
  with_floating(args.dtype, "a matrix", [&](auto tag) {
    using Storage = typename decltype(tag)::type;
    using Acc = AccumulatorOf<Storage>;
    const FinishedRows<Storage> rows(args, finish);
    if (args.c_dtype == args.dtype)
      Product<Storage, Storage, FinishedRows<Storage>>(args, arena, rows).run();
    else
      Product<Storage, Acc, FinishedRows<Storage>>(args, arena, rows).run();
  });
}

void multiply_made(const ProductArgs& args, const NeighbourRows& rows, const ProductFinish& finish, Arena arena) {
  with_floating(args.dtype, "a matrix", [&](auto tag) {
    using Storage = typename decltype(tag)::type;
    using Acc = AccumulatorOf<Storage>;
    const SummedRows<Storage> summed(args, rows, finish, NeighbourScratch<Acc>::take(arena, args, rows));
    if (args.c_dtype == args.dtype)
      Product<Storage, Storage, SummedRows<Storage>>(args, arena, summed).run();
    else
      Product<Storage, Acc, SummedRows<Storage>>(args, arena, summed).run();
  });
}

}  // namespace weft::dense::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::dense::cpu {
HWY_EXPORT(multiply_and_finish);
HWY_EXPORT(multiply_made);

void product(const ProductArgs& args, const ProductFinish& finish, Arena arena) {
  weft::cpu::settle_target();
  if (args.m == 0 || args.n == 0) return;
  HWY_DYNAMIC_DISPATCH(multiply_and_finish)(args, finish, arena);
}

std::size_t neighbour_product_workspace(const ProductArgs& args, const NeighbourRows& rows) {
  if (args.m == 0 || args.n == 0) return 0;
  Arena counting;
  const ProductCut cut(args);
  const auto take = [&](auto tag) {
    using Acc = typename decltype(tag)::type;
    NeighbourScratch<Acc>::take(counting, args, rows);
    ProductScratch<Acc>::take(counting, args, cut);
  };
  args.dtype == Dtype::f64 ? take(TypeTag<double>{}) : take(TypeTag<float>{});
  return counting.used();
}

void neighbour_product(const ProductArgs& args, const NeighbourRows& rows, const ProductFinish& finish, Arena arena) {
  weft::cpu::settle_target();
  if (args.m == 0 || args.n == 0) return;
  HWY_DYNAMIC_DISPATCH(multiply_made)(args, rows, finish, arena);
}
}  // namespace weft::dense::cpu
#endif
