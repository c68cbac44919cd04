// Blocks of rows that are sums over neighbours, for a product: made by the kernels that sum whole graphs, in the same
// order, so that the rows have the bits that spmm would store.
#if defined(WEFT_DENSE_CPU_NEIGHBOUR_PRODUCT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_DENSE_CPU_NEIGHBOUR_PRODUCT_INL
#undef WEFT_DENSE_CPU_NEIGHBOUR_PRODUCT_INL
#else
#define WEFT_DENSE_CPU_NEIGHBOUR_PRODUCT_INL
#endif

#include "dense/cpu/neighbour_scratch.hpp"
#include "dense/cpu/product-inl.hpp"
#include "kernels/cpu/row_sum-inl.hpp"
#include "plan/tuning/cpu.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::dense::cpu::HWY_NAMESPACE {

/// What is left to do with c's rows.
template <class Storage>
class FinishedRows {
  using Acc = AccumulatorOf<Storage>;

 public:
  static constexpr bool makes = false, may_finish = true;
  FinishedRows(const ProductArgs& args, const ProductFinish& finish) : finish_(finish), columns_(args.n) {}

  bool finishes() const { return finish_.given(); }
  template <class Out>
  void finish(std::int64_t row, const Acc* sums, Out* to) const {
    const auto* const bias = static_cast<const Acc*>(finish_.bias);
    const auto* const gate =
        finish_.gate != nullptr ? static_cast<const Storage*>(finish_.gate) + row * columns_ : nullptr;
    for_each_element_block<Acc>(columns_, [&](auto d, std::int64_t i) HWY_ATTR {
      auto value = hn::LoadU(d, sums + i);
      if (bias != nullptr) value = hn::Add(value, hn::LoadU(d, bias + i));
      if (finish_.relu) value = above_zero(d, value);
      if (gate != nullptr) {
        const auto scaled = hn::Mul(value, hn::Set(d, static_cast<Acc>(finish_.gate_scale)));
        value = hn::IfThenElse(hn::Le(load_as(d, gate + i), hn::Zero(d)), hn::Zero(d), scaled);
      }
      if (finish_.saturates) value = within<Out>(d, value);
      store_as(d, value, to + i);
    });
  }

 protected:
  template <class D>
  static HWY_INLINE hn::Vec<D> above_zero(D d, hn::Vec<D> value) {
    return hn::IfThenElse(hn::Le(value, hn::Zero(d)), hn::Zero(d), value);  // NaN stays
  }
  /// The range of f16; the other types have none to leave.
  template <class To, class D>
  static HWY_INLINE hn::Vec<D> within(D d, hn::Vec<D> value) {
    if constexpr (std::is_same_v<To, Half>) {
      const auto most = hn::Set(d, static_cast<Acc>(largest_value(Dtype::f16))), least = hn::Neg(most);
      value = hn::IfThenElse(hn::Gt(value, most), most, value);
      value = hn::IfThenElse(hn::Lt(value, least), least, value);
    }
    return value;
  }

 private:
  ProductFinish finish_;
  std::int64_t columns_;
};

/// Rows that are made.
template <class Storage>
class SummedRows : public FinishedRows<Storage> {
  using Base = FinishedRows<Storage>;
  using Acc = AccumulatorOf<Storage>;

 public:
  static constexpr bool makes = true;

  SummedRows(const ProductArgs& args, const NeighbourRows& from, const ProductFinish& finish,
             const NeighbourScratch<Acc>& scratch)
      : Base(args, finish), from_(from), width_(args.k), scratch_(scratch) {
    if (from.eps != nullptr) self_ += *static_cast<const Acc*>(from.eps);
    stager_.graph = from.graph;
    stager_.width = width_;
    stager_.x = {from.x, args.dtype, width_, 0, 1};
    if (from.edge != nullptr) stager_.edge = {from.edge, from.edge_dtype, 1, 0, 0};
    if (from.col_scale != nullptr) stager_.col_scale = {from.col_scale, dtype_of<Acc>, 1, 0, 0};
    stager_.needs.weight = from.edge != nullptr || from.col_scale != nullptr;
    stager_.needs.scale_weight = from.edge != nullptr && from.col_scale != nullptr;
    stager_.prefetch_edges = tuning::prefetch_edges(width_ * static_cast<std::int64_t>(sizeof(Storage)));
  }

  void make(Stretch rows, Acc* to, std::int64_t stride, int thread) const {
    stager_.needs.weight ? sum<Weighted>(rows, to, stride, thread) : sum<Plain>(rows, to, stride, thread);
  }

 private:
  template <class Message>
  HWY_NOINLINE void sum(Stretch rows, Acc* to, std::int64_t stride, int thread) const {
    const EdgeId* const offsets = from_.graph.offsets;
    const Levels<Acc> levels{scratch_.levels.data() + thread * scratch_.levels_stride, width_};
    Acc* const staged = scratch_.staged.data() + thread * scratch_.staged_stride;
    // Vectors may overlap at the end of a row: nothing is changed in place.
    Acc* const sum = scratch_.row.data() + thread * scratch_.row_stride;
    auto* const rounded = reinterpret_cast<Storage*>(sum + width_);
    weft::cpu::EdgeWindow window;
    auto block = stager_.start(staged, window);
    with_lanes<Acc>(width_, [&](auto d) HWY_ATTR {
      for (std::int64_t row = rows.begin; row < rows.end; ++row, to += stride) {
        sum_run<Message>(d, stager_, block, Run{row, offsets[row], offsets[row + 1]}, levels, staged,
                         static_cast<const Acc*>(nullptr), sum);
        finish_made(row, sum, rounded, to);
      }
    });
  }

  /// From a row's sum to what the product reads, and to where it is kept.
  HWY_NOINLINE void finish_made(std::int64_t row, const Acc* sum, Storage* rounded, Acc* to) const {
    const EdgeId degree = from_.graph.offsets[row + 1] - from_.graph.offsets[row];
    const Acc divisor = from_.mean && degree > 0 ? static_cast<Acc>(degree) : Acc(1);
    const Acc factor = from_.row_scale != nullptr ? static_cast<const Acc*>(from_.row_scale)[row] : Acc(1);
    const auto* const own =
        from_.adds_self && row < from_.graph.num_cols ? static_cast<const Storage*>(from_.x) + row * width_ : nullptr;
    const auto* const bias = static_cast<const Acc*>(from_.bias);
    Storage* const stored = from_.kept != nullptr ? static_cast<Storage*>(from_.kept) + row * width_ : rounded;
    constexpr bool rounds = !std::is_same_v<Storage, Acc>;
    for_each_element_block<Acc>(width_, [&](auto d, std::int64_t i) HWY_ATTR {
      auto value = hn::LoadU(d, sum + i);
      if (from_.mean) value = hn::Div(value, hn::Set(d, divisor));
      if (from_.row_scale != nullptr) value = hn::Mul(value, hn::Set(d, factor));
      if (own != nullptr) value = hn::MulAdd(load_as(d, own + i), hn::Set(d, self_), value);
      if (bias != nullptr) value = hn::Add(value, hn::LoadU(d, bias + i));
      if (from_.relu) value = Base::above_zero(d, value);
      if (from_.saturates) value = Base::template within<Storage>(d, value);
      if (rounds || from_.kept != nullptr) store_as(d, value, stored + i);
      hn::StoreU(rounds ? load_as(d, stored + i) : value, d, to + i);
    });
  }

  NeighbourRows from_;
  std::int64_t width_;
  NeighbourScratch<Acc> scratch_;
  Acc self_ = 1;
  Stager<Storage, Acc> stager_;
};

}  // namespace weft::dense::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
