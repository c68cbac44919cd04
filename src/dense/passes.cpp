#include "dense/passes.hpp"

#include "core/loops/cpu.hpp"
#include "dense/norm-inl.hpp"

namespace weft::loops {
using Backend = Cpu;
}
#include "dense/pass_list-inl.hpp"

namespace weft::dense {

void saturate(const Context& context, TensorView values) {
  if (values.dtype != Dtype::f16) return;
  ActivateArgs args{values.dtype, values.shape.rows, values.shape.row_size(), values.data};
  args.out = values.mutable_data();
  run(context, args);
}

}  // namespace weft::dense
