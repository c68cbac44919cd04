// Brings the edges of one block into the form messages read: column pointer, edge scalars converted to
// the accumulator type and combined with the column scale, and the source rows further on prefetched.
#if defined(WEFT_KERNELS_CPU_STAGE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_STAGE_INL
#undef WEFT_KERNELS_CPU_STAGE_INL
#else
#define WEFT_KERNELS_CPU_STAGE_INL
#endif

#include "kernels/cpu/messages-inl.hpp"
#include "kernels/signatures.hpp"
#include "plan/partition.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

/// Which edge scalars the messages of a run need.
struct StageNeeds {
  bool weight = false;        // the edge's own scalar
  bool scale_weight = false;  // ... times the column scale
  bool scale = false;         // the column scale by itself, 1 where there is none
};

template <class Storage, class Acc>
struct Stager {
  GraphView graph;
  SampledPlaces sample;  // where given, `graph` is the sample's index space
  std::int64_t heads = 1, width = 1;
  Operand x, edge, col_scale;
  Operand row, term, attn;  // of messages that compare with the row's own vector; term: by edge id
  Acc slope = 0;
  StageNeeds needs;
  int prefetch_edges = 0;
  MessageWriter<Storage, Acc> write = nullptr;  // of messages that are reduced as Written
  bool run_weights = false;  // weights come with each run, [edges, weight_step], instead of from `edge`
  std::int64_t weight_step = 1;
  const IndexOf<Acc>* head_of = nullptr;  // where there are several a step

  /// What is the same for every block of one thread. `staged` has room for block_edges * (2 * heads + width)
  /// scalars; `window` shows the edges of a sample.
  HWY_INLINE Block<Storage, Acc> start(Acc* staged, EdgeWindow& window) const {
    Block<Storage, Acc> b;
    b.window = &window;
    b.x = static_cast<const Storage*>(x.data);
    b.x_stride = x.row_stride;
    b.edge = static_cast<const Storage*>(edge.data);
    b.edge_stride = edge.row_stride;
    b.slope = slope;
    b.head_of = head_of;
    b.weight_step = weight_step;
    if (attn.given()) b.attn = static_cast<const Storage*>(attn.data);
    b.term = static_cast<const Storage*>(term.data);
    b.term_stride = term.row_stride;
    b.weight = staged;
    b.scale = staged + block_edges * heads;
    b.messages = staged + block_edges * 2 * heads;
    b.message_stride = width;
    b.prefetch_bytes = !x.given() || prefetch_edges == 0
                           ? 0
                           : ((heads - 1) * x.head_stride + (x.feature_stride == 0 ? 1 : width)) *
                                 static_cast<std::int64_t>(sizeof(Storage));
    return b;
  }

  /// Moves on to edges [begin, begin + count) of `row_index`, at most block_edges of them, or with one head as many as
  /// `staged` has room for weights; `run_weight` are the weights of these edges where they come with the run. The block
  /// is for head 0; `to_head` gives the others.
  template <bool Hot>
  HWY_INLINE void load(Block<Storage, Acc>& b, std::int64_t row_index, EdgeId begin, int count, Acc* staged,
                       const Acc* run_weight) const {
    if (sample.given()) {
      show_sample(b, row_index, begin, count);
    } else {
      if (graph.cols != nullptr) {
        b.cols = graph.cols + begin;
        b.ahead = begin + prefetch_edges + count <= graph.num_edges ? b.cols + prefetch_edges : b.cols;
      }
      b.ids = graph.edge_ids != nullptr ? graph.edge_ids + begin : nullptr;
      b.first = begin;
    }
    if (needs.weight) b.weight = run_weights ? run_weight : weights(b, count, staged);
    if constexpr (Hot) return;
    if (row.given()) b.row = static_cast<const Storage*>(row.data) + row_index * row.row_stride;
    if (needs.scale) {
      Acc* scale = staged + block_edges * heads;
      for (int k = 0; k < count; ++k) scale[k] = col_scale.given() ? column_scale(b.cols[k]) : Acc{1};
    }
  }

  /// Whether edges and weights can be read where they are: then a block may be of any length.
  HWY_INLINE bool stands_ready() const { return !sample.given() && weights_stand_ready(); }
  /// Whether the weights can (or none are).
  HWY_INLINE bool weights_stand_ready() const {
    if (!needs.weight) return true;
    const bool plain = !sample.given() && graph.edge_ids == nullptr && !needs.scale_weight;
    return plain && edge.given() && edge.dtype == dtype_of<Acc> && edge.row_stride == 1 &&
           (edge.head_stride == 0 || heads == 1);
  }

  HWY_INLINE Block<Storage, Acc> to_head(Block<Storage, Acc> b, std::int64_t h) const {
    b.x += h * x.head_stride;
    if (needs.weight && edge.head_stride != 0) b.weight += h * block_edges;
    b.edge += h * edge.head_stride;
    b.row += h * row.head_stride;
    b.term += h * term.head_stride;
    b.attn += h * attn.head_stride;
    return b;
  }

 private:
  Acc column_scale(NodeId col) const {
    return col_scale.dtype == Dtype::f64 ? static_cast<Acc>(static_cast<const double*>(col_scale.data)[col])
                                         : static_cast<Acc>(static_cast<const float*>(col_scale.data)[col]);
  }

  HWY_NOINLINE void show_sample(Block<Storage, Acc>& b, std::int64_t row_index, EdgeId begin, int count) const {
    EdgeWindow& window = *b.window;
    // Further than this block, as what follows is asked for while it is summed; attention has shown the whole run.
    const EdgeId end = begin + count, further = run_weights ? end : std::min(graph.num_edges, end + block_edges);
    if (!window.shows(begin, further))
      window.show(graph, sample, row_index, begin, std::min(graph.num_edges, begin + EdgeWindow::stretch));
    b.cols = window.cols(begin);
    b.ahead = window.shows(begin, end + block_edges) ? b.cols + block_edges : b.cols;
    b.ids = window.ids(begin);
  }

  HWY_INLINE const Acc* weights(const Block<Storage, Acc>& b, int count, Acc* staged) const {
    if (weights_stand_ready()) return static_cast<const Acc*>(edge.data) + b.first;
    convert_weights(b, count, staged);
    return staged;
  }

  HWY_NOINLINE void convert_weights(const Block<Storage, Acc>& b, int count, Acc* staged) const {
    if (!edge.given()) {  // the column scale alone
      for (int k = 0; k < count; ++k) staged[k] = column_scale(b.cols[k]);
      return;
    }
    with_floating(edge.dtype, "edge", [&](auto tag) {
      using Edge = typename decltype(tag)::type;
      const std::int64_t edge_heads = edge.head_stride == 0 ? 1 : heads;
      for (int k = 0; k < count; ++k) {
        const Edge* e = static_cast<const Edge*>(edge.data) + b.id_of(k) * edge.row_stride;
        const Acc factor = needs.scale_weight ? column_scale(b.cols[k]) : Acc{1};
        for (std::int64_t h = 0; h < edge_heads; ++h)
          staged[h * block_edges + k] = convert<Acc>(e[h * edge.head_stride]) * factor;
      }
    });
  }
};

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
