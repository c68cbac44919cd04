// From the arguments of GATv2's backward to launches.
#include <algorithm>

#include "core/check.hpp"
#include "core/cuda/check.hpp"
#include "kernels/cuda/aligned.hpp"
#include "kernels/cuda/attention/messages.hpp"
#include "kernels/cuda/gather/common.hpp"
#include "kernels/cuda/gather/launch.hpp"
#include "kernels/cuda/with_storage.hpp"
#include "plan/cuda/select.hpp"

namespace weft::cuda {
namespace {

template <class Storage, bool EdgeVectors>
void run(const LeakyArgs& given, const Plan& plan, Arena arena, CUstream_st* stream) {
  using Acc = AccumulatorOf<Storage>;
  GatherArgs<SumOfLeaky<Storage, EdgeVectors>> args{
      gather_common<Storage>(plan, given.graph, arena, given.heads * given.width, given.col, "src or dst"), {}};
  args.epilogue = plain_epilogue<Storage>(given.out, "a gradient of gatv2");
  auto& terms = args.message;
  terms.heads = static_cast<int>(given.heads);
  terms.width = static_cast<int>(given.width);
  terms.x_head = given.col.head_stride;
  terms.factor = maybe_wide<Storage>(given.factor.data, given.factor.dtype);
  terms.factor_pitch = given.factor.row_stride;
  terms.factor_head = given.factor.head_stride;
  terms.edge = static_cast<const Storage*>(given.edge.data);
  terms.edge_pitch = given.edge.row_stride;
  terms.edge_head = given.edge.head_stride;
  terms.row = static_cast<const Storage*>(given.row.data);
  terms.row_pitch_bytes = pitch_bytes<Storage>("dst or src", given.row.row_stride);
  terms.row_head = given.row.head_stride;
  if (given.derivative) {
    terms.attn = static_cast<const Storage*>(given.attn.data);
    terms.attn_head = given.attn.head_stride;
  }
  terms.slope = static_cast<Acc>(given.slope);
  // Packs do not reach across heads, and every array they move must allow them.
  int most = aligned_elements(args.epilogue.out, args.epilogue.wide, given.out.row_stride);
  const auto also = [&](const Storage* data, std::int64_t pitch, std::int64_t head) {
    most = std::min(most, aligned_elements(data, pitch));
    if (given.heads > 1) most = std::min(most, aligned_elements(data, head));
  };
  also(args.x, given.col.row_stride, terms.x_head);
  also(terms.row, given.row.row_stride, terms.row_head);
  if (EdgeVectors) also(terms.edge, terms.edge_pitch, terms.edge_head);
  if (terms.attn != nullptr) also(terms.attn, 0, terms.attn_head);
  while (given.width % most != 0) most /= 2;
  const Kernel kernel = select_leaky_sum(plan.desc.dtype, args.features, most, EdgeVectors);
  if (args.split.tasks > 0) launch_gather<SumOfLeaky<Storage, EdgeVectors>, Reduction::sum>(args, kernel.shape, stream);
  if (plan.cuda().finish_pass)
    launch_fix_up<Storage, Reduction::sum>(
        args, gather_shape(args.features, StorageTraits<Storage>::bytes, kernel.shape.vector), stream);
}

}  // namespace

void leaky_sum(const LeakyArgs& args, const Plan& plan, Arena arena, CUstream_st* stream) {
  const std::int64_t features = args.heads * args.width;
  WEFT_CHECK(features < (std::int64_t{1} << 22), unsupported, "src has {} features per row: expected fewer than 2^22",
             features);
  if (features == 0 || args.graph.num_rows == 0) return;
  const OnDevice on(plan.device.index);
  with_storage(plan.desc.dtype, [&]<class Storage>(Storage) {
    args.edge.given() ? run<Storage, true>(args, plan, arena, stream) : run<Storage, false>(args, plan, arena, stream);
  });
}

}  // namespace weft::cuda
