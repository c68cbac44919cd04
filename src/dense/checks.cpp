#include "dense/checks.hpp"

#include "core/check.hpp"

namespace weft::dense {

void check_dense(const Context& context, ConstTensorView view, const char* name) {
  WEFT_CHECK(view.given, invalid_argument, "{} is empty: expected a tensor", name);
  WEFT_CHECK(is_floating(view.dtype), invalid_argument, "{} is {}: expected f32, f16, bf16 or f64", name,
             weft::name(view.dtype));
  WEFT_CHECK(view.device == context.device(), invalid_argument,
             "{} is on {} and the context on {}: copy it there first", name, to_string(view.device),
             to_string(context.device()));
  WEFT_CHECK(view.ld == view.shape.row_size() || view.shape.rows <= 1, invalid_argument,
             "{} has rows {} elements apart for {} columns: expected dense rows; clone it first", name, view.ld,
             view.shape.row_size());
}

void check_like(const Context& context, ConstTensorView view, const char* name, ConstTensorView wanted,
                const char* wanted_name) {
  check_dense(context, view, name);
  WEFT_CHECK(view.shape == wanted.shape && view.dtype == wanted.dtype, invalid_argument,
             "{} is {} {}: expected {} {}, as {}", name, weft::name(view.dtype), to_string(view.shape),
             weft::name(wanted.dtype), to_string(wanted.shape), wanted_name);
}

}  // namespace weft::dense
