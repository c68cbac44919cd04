// What operators mean, once for every backend: the value of a message or of an element of sddmm, the slopes that its
// gradients are made of, and what reducers do with messages. The float64 reference evaluates a formula on doubles, a
// CUDA kernel on a lane's accumulators, the CPU's kernels on vectors (cpu/formula-inl.hpp); the backward composes
// gradients from slopes. docs/kernels.md lists what else a new operator touches.
#pragma once

#include <cmath>

#include "core/anywhere.hpp"
#include "weft/types.hpp"

namespace weft::semantics {

// Formulas are types. Left is the feature of an edge's source, or sddmm's lhs; Right is the edge's value, or rhs.
struct Left {
  static constexpr bool reads_left = true, reads_right = false;
  template <class Acc>
  static WEFT_ANYWHERE constexpr Acc of(Acc left, Acc) {
    return left;
  }
};

struct Right {
  static constexpr bool reads_left = false, reads_right = true;
  template <class Acc>
  static WEFT_ANYWHERE constexpr Acc of(Acc, Acc right) {
    return right;
  }
};

template <class A, class B>
struct Both {
  static constexpr bool reads_left = A::reads_left || B::reads_left, reads_right = A::reads_right || B::reads_right;
};

template <class A, class B>
struct Plus : Both<A, B> {
  template <class Acc>
  static WEFT_ANYWHERE constexpr Acc of(Acc left, Acc right) {
    return A::of(left, right) + B::of(left, right);
  }
};

template <class A, class B>
struct Minus : Both<A, B> {
  template <class Acc>
  static WEFT_ANYWHERE constexpr Acc of(Acc left, Acc right) {
    return A::of(left, right) - B::of(left, right);
  }
};

template <class A, class B>
struct Times : Both<A, B> {
  template <class Acc>
  static WEFT_ANYWHERE constexpr Acc of(Acc left, Acc right) {
    return A::of(left, right) * B::of(left, right);
  }
};

template <class A, class B>
struct Over : Both<A, B> {
  template <class Acc>
  static WEFT_ANYWHERE constexpr Acc of(Acc left, Acc right) {
    return A::of(left, right) / B::of(left, right);
  }
};

/// A derivative, sign * left^left * right^right: a product of powers, so that gradients of whole tensors can be
/// composed of products and quotients. Sign 0: the operand is not read.
struct Slope {
  int sign = 0;
  int left = 0, right = 0;
};

/// 1 for a power of 0 or less.
template <int Power, class Acc>
WEFT_ANYWHERE constexpr Acc positive_power(Acc base) {
  Acc power = 1;
  for (int i = 0; i < Power; ++i) power *= base;
  return power;
}

/// One division at most, whatever the powers.
template <Slope S, class Acc>
WEFT_ANYWHERE constexpr Acc evaluate(Acc left, Acc right) {
  const Acc above = static_cast<Acc>(S.sign) * positive_power<S.left>(left) * positive_power<S.right>(right);
  if constexpr (S.left < 0 || S.right < 0)
    return above / (positive_power<-S.left>(left) * positive_power<-S.right>(right));
  return above;
}

// Meanings of operators: a formula, and its derivatives by Left and by Right.
struct CopyLeft {
  using Value = Left;
  static constexpr Slope by_left{1}, by_right{0};
};

struct CopyRight {
  using Value = Right;
  static constexpr Slope by_left{0}, by_right{1};
};

struct Sum {
  using Value = Plus<Left, Right>;
  static constexpr Slope by_left{1}, by_right{1};
};

struct Difference {
  using Value = Minus<Left, Right>;
  static constexpr Slope by_left{1}, by_right{-1};
};

struct Product {
  using Value = Times<Left, Right>;
  static constexpr Slope by_left{1, 0, 1}, by_right{1, 1, 0};
};

struct Quotient {
  using Value = Over<Left, Right>;
  static constexpr Slope by_left{1, 0, -1}, by_right{-1, 1, -2};
};

/// Whether a message is x, e, x + e or x - e: with 0 for an operand that is not read, one path serves all of them.
template <class Meaning>
inline constexpr bool adds_edge =
    Meaning::by_left.sign >= 0 && Meaning::by_left.left == 0 && Meaning::by_left.right == 0 &&
    Meaning::by_right.left == 0 && Meaning::by_right.right == 0;

/// Calls f(meaning) for what an edge sends. The op is one of the enumerators: public functions have checked it.
WEFT_CALLS_ITS_ARGUMENT
template <class F>
WEFT_ANYWHERE constexpr decltype(auto) with_meaning(SpmmOp op, const F& f) {
  switch (op) {
    case SpmmOp::copy_u: return f(CopyLeft{});
    case SpmmOp::copy_e: return f(CopyRight{});
    case SpmmOp::u_add_e: return f(Sum{});
    case SpmmOp::u_sub_e: return f(Difference{});
    case SpmmOp::u_mul_e: return f(Product{});
    case SpmmOp::u_div_e: return f(Quotient{});
  }
  __builtin_unreachable();
}

/// The same for one element of sddmm; dot adds its elements up over the features of a head.
WEFT_CALLS_ITS_ARGUMENT
template <class F>
WEFT_ANYWHERE constexpr decltype(auto) with_meaning(SddmmOp op, const F& f) {
  switch (op) {
    case SddmmOp::dot:
    case SddmmOp::mul: return f(Product{});
    case SddmmOp::add: return f(Sum{});
    case SddmmOp::sub: return f(Difference{});
    case SddmmOp::div: return f(Quotient{});
    case SddmmOp::copy_lhs: return f(CopyLeft{});
    case SddmmOp::copy_rhs: return f(CopyRight{});
  }
  __builtin_unreachable();
}

template <class Op>
constexpr bool reads_left(Op op) {
  return with_meaning(op, [](auto meaning) { return decltype(meaning)::Value::reads_left; });
}
template <class Op>
constexpr bool reads_right(Op op) {
  return with_meaning(op, [](auto meaning) { return decltype(meaning)::Value::reads_right; });
}

// Reducers add messages up, or take the largest (is_extremum): a minimum is the largest of negated messages, as
// comparing and negating are exact. A row without edges is 0 for all of them.
constexpr bool negates_messages(Reduce reduce) { return reduce == Reduce::min; }
constexpr bool divides_by_edges(Reduce reduce) { return reduce == Reduce::mean; }

/// What the largest message is looked for from; nothing but minus infinity itself leaves it.
template <class Acc>
WEFT_ANYWHERE constexpr Acc below_all() {
  return -static_cast<Acc>(INFINITY);
}

/// Whether a message takes the place of the largest before it: a larger one does, and the first NaN, so that the first
/// stored edge wins among equals.
template <class Acc>
WEFT_ANYWHERE constexpr bool replaces(Acc message, Acc largest) {
  return !(message <= largest) && largest == largest;
}

}  // namespace weft::semantics
