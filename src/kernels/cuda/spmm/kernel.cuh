// Messages of edges reduced by rows, over equal shares of the edges.
//
// A group of threads covers a row of X and walks the edges of its share. Each lane holds some edges of the next chunk
// in registers while the group works on this one; shuffles hand them round, or shared memory where attention has
// several heads (posted_weights.cuh). Batches of edges without a row's end, the common case, take a path without
// branches; several rows of X are in flight at any time.
#pragma once

#include "kernels/cuda/primitives/row_at.cuh"
#include "kernels/cuda/schedule/edge_chunk.cuh"
#include "kernels/cuda/schedule/shape.hpp"
#include "kernels/cuda/spmm/cut_rows.cuh"
#include "kernels/cuda/spmm/edge_value.cuh"
#include "kernels/cuda/spmm/fold_pairs.cuh"
#include "kernels/cuda/spmm/head_leans.cuh"
#include "kernels/cuda/spmm/head_returns.cuh"
#include "kernels/cuda/spmm/head_scores.cuh"
#include "kernels/cuda/spmm/posted_weights.cuh"

namespace weft::cuda {

/// For messages that are the same for all heads.
struct NoHeads {
  template <class... Anything>
  __device__ __forceinline__ explicit NoHeads(const Anything&...) {}
};

/// What provides for the heads of a message.
template <Message Sent, class Storage, class S, class Chunk>
struct HeadsOf {
  using type = NoHeads;
};
template <class Storage, class S, class Chunk>
struct HeadsOf<Message::attended, Storage, S, Chunk> {
  using type = std::conditional_t<(S::held > 1), PostedWeights<Storage, S, Chunk>, HeadWeights<Storage, S, Chunk>>;
};
template <class Storage, class S, class Chunk>
struct HeadsOf<Message::scored, Storage, S, Chunk> {
  using type = HeadScores<Storage, S, Chunk>;
};
template <class Storage, class S, class Chunk>
struct HeadsOf<Message::returned, Storage, S, Chunk> {
  using type = HeadReturns<Storage, S, Chunk>;
};
template <class Storage, class S, class Chunk>
struct HeadsOf<Message::leaned, Storage, S, Chunk> {
  using type = HeadLeans<Storage, S, Chunk>;
};

/// Whether edges of a chunk are posted in shared memory, instead of being handed round by shuffles.
template <class Heads>
inline constexpr bool posts = requires {
  requires Heads::posts;
};

/// Whether the weights of a chunk are found before its first batch, which may then have the registers of all that they
/// are computed from.
template <class Heads>
inline constexpr bool weighs_ahead = requires {
  requires Heads::weighs_ahead;
};

template <class Acc>
struct Operands {
  Acc x, e;
};

/// What edges' operands become: x is a source's feature, e the edge's own. The operator is the same for all, and so is
/// the path.
template <int Loads, int Count, class Acc, class OperandsOf>
__device__ __forceinline__ void combine(SpmmOp op, Acc (&message)[Loads][Count], const OperandsOf& operands) {
  const auto each = [&](const auto& f) {
#pragma unroll
    for (int u = 0; u < Loads; ++u)
#pragma unroll
      for (int n = 0; n < Count; ++n) {
        const Operands<Acc> o = operands(u, n);
        message[u][n] = f(o.x, o.e);
      }
  };
  if (op == SpmmOp::u_mul_e) {
    each([](Acc x, Acc e) { return x * e; });
  } else if (op == SpmmOp::u_div_e) {
    each([](Acc x, Acc e) { return x / e; });
  } else {  // a copy is a sum with nothing
    const Acc sign = op == SpmmOp::u_sub_e ? -1 : 1;
    each([&](Acc x, Acc e) { return fma(sign, e, x); });
  }
}

/// Blocks a multiprocessor. Scores from vectors hold more than others but for one head of halves, and so do GATv2's
/// gradients.
template <class Storage, class S, Message Sent>
constexpr int blocks_of() {
  constexpr int bytes = sizeof(Storage);
  if (Sent == Message::attended || Sent == Message::returned)
    return resident_blocks_of_attention(Sent == Message::returned, S::held > 1, bytes, S::value);
  const bool light = Sent == Message::scored ? bytes <= 2 && S::held == 1 && S::count <= 4 : !by_head<Sent>;
  return light ? resident_blocks(bytes, S::value) : 2;
}

template <class Storage, class S, Message Sent, Reduction Kind>
__global__ void __launch_bounds__(block_threads, blocks_of<Storage, S, Sent>())
    reduce_edges(const SpmmKernelArgs<Storage> args) {
  using Acc = AccumulatorOf<Storage>;
  using Values = EdgeValue<Storage, Sent, Kind>;
  using Chunk = EdgeChunk<S::lanes, S::each, typename Values::Loaded>;
  using X = Pack<Storage, S::vector>;
  constexpr int loads = S::loads;
  constexpr bool averaged = Sent == Message::averaged, plain = Sent == Message::source || averaged,
                 edgewise = Sent == Message::edgewise, scaled = Sent == Message::scaled, by_heads = by_head<Sent>;
  // Rows that are written as they are reduced, or as means: always, or where the call is of that kind.
  constexpr bool always_light = plain || by_heads || Sent == Message::weighted;
  constexpr bool sometimes_light = scaled && Kind == Reduction::extremum && sizeof(Storage) <= 4;
  constexpr int totals = Lane<Storage, S, Sent, Kind>::totals;
  __shared__ HeadSlots<Acc, S::groups * S::tile, S::groups, Kind, block_threads * totals> heads;

  const EdgeSplit& split = args.split;
  const int group = threadIdx.x / S::lanes, lane = threadIdx.x % S::lanes,
            shift = threadIdx.x % 32 / S::lanes * S::lanes;
  const EdgeShare share = EdgeShare::of<S::groups>(split, group);
  using Here = Lane<Storage, S, Sent, Kind>;
  Here here{args, share.nominal, static_cast<int>(blockIdx.y) * S::tile + Here::first_of(args, lane)};
  here.find_heads();
  // Lanes past the last feature load the first ones again, and write nothing.
  const Storage* x_lane[S::steps];
  std::int64_t edge_lane[edgewise ? S::steps : 1];  // where this lane's values stand in an edge's row
#pragma unroll
  for (int s = 0; s < S::steps; ++s) {
    const int f = here.has(s) ? here.at(s) : 0;
    if constexpr (by_heads) {
      const int head = f / args.width;
      x_lane[s] = args.x + head * args.x_head + (f - head * args.width);
    } else if constexpr (edgewise) {
      const int head = f / args.width, within = f - head * args.width;
      x_lane[s] = args.x + head * args.x_head + (args.x_vector ? within : 0);
      edge_lane[s] = head * args.edge_head + (args.edge_vector ? within : 0);
    } else {
      x_lane[s] = args.x + f;
    }
  }
  const bool both_vectors =
      edgewise && args.x != nullptr && args.x_vector && args.edge.data != nullptr && args.edge_vector;
  const Values edge_values{args};
  using Heads = typename HeadsOf<Sent, Storage, S, Chunk>::type;
  Heads of_heads(args, here, lane);

  using State = typename Lane<Storage, S, Sent, Kind>::State;
  State state;
  state.clear();
  const CutRows<Storage, S, Sent, Kind, S::groups> cut{here, heads, group, lane};
  // Places of edges are counted from where the task would begin if no border stepped back.
  const int origin = static_cast<int>(share.begin - here.nominal);

  bool head_open = share.head >= 0;  // the row that began before the share has not ended yet
  bool one_by_one = false;           // the last batch was added up so
  int begun = 0;                     // where in the share the current row begins, unless it is the head

  Chunk next;
  next.start(split, share, lane);
  next.load(split, share, 0, lane, edge_values);
  cut.begin(share);  // what it keeps is waited for: the edges are on their way
  if constexpr (Sent == Message::scored) of_heads.begin_share(share);
  // Every group of a warp makes the same steps, so that shuffles meet.
  for (int first = 0; first < share.most; first += Chunk::size) {
    NodeId cols[S::each], rows[S::each];
    Acc values[S::each];
#pragma unroll
    for (int i = 0; i < S::each; ++i) {
      cols[i] = next.col[i];
      rows[i] = next.row[i];
      values[i] = edge_values.value(next.value[i]);
    }
    if constexpr (by_heads) of_heads.load(cols, rows);
    if constexpr (Values::has_place) of_heads.take_places(next.value);
    const unsigned ends = next.ends(share, first, lane, shift);
    if (first + Chunk::size < share.most) next.load(split, share, first + Chunk::size, lane, edge_values);
    const auto from_lane = [&](const auto& held, int q) __attribute__((always_inline)) {
      return __shfl_sync(~0u, held[Chunk::place_of(q)], Chunk::lane_of(q), S::lanes);
    };
    const auto batch = [&](int j) __attribute__((always_inline)) {
      X x[loads][S::steps];
      X e[edgewise ? loads : 1][S::steps];
      std::uint32_t cols_of[edgewise ? loads : 1];
      EdgeId edge_row[edgewise ? loads : 1];
      Acc e_one[edgewise ? loads : 1][S::steps];  // where an edge has one value for a head
      std::uint32_t posted[loads];
      if constexpr (posts<Heads>) of_heads.read_cols(j, posted);
#pragma unroll
      for (int u = 0; u < loads; ++u) {
        const auto col = posts<Heads> ? posted[u] : static_cast<std::uint32_t>(from_lane(cols, j + u));
        if constexpr (!edgewise) {
#pragma unroll
          for (int s = 0; s < S::steps; ++s) x[u][s] = X::load(row_at(x_lane[s], col, args.x_pitch_bytes));
        } else {
          cols_of[u] = col;
          const EdgeId k = first + j + u < share.length ? split.id_of(share.begin + first + j + u) : 0;
          edge_row[u] = k * args.edge_pitch;
        }
      }
      if constexpr (edgewise) {
        // One branch for the batch: where each load had its own they waited for one another.
        const Storage* const edge = static_cast<const Storage*>(args.edge.data);
#pragma unroll
        for (int u = 0; u < loads; ++u)
#pragma unroll
          for (int s = 0; s < S::steps; ++s) e_one[u][s] = 0;
        if (both_vectors) {
#pragma unroll
          for (int u = 0; u < loads; ++u)
#pragma unroll
            for (int s = 0; s < S::steps; ++s) {
              x[u][s] = X::load(row_at(x_lane[s], cols_of[u], args.x_pitch_bytes));
              e[u][s] = X::load_once(edge + edge_lane[s] + edge_row[u]);
            }
        } else {
#pragma unroll
          for (int u = 0; u < loads; ++u)
#pragma unroll
            for (int s = 0; s < S::steps; ++s) {
              const Storage* const at = row_at(x_lane[s], cols_of[u], args.x_pitch_bytes);
              x[u][s] = args.x == nullptr ? X::all(Storage(0)) : args.x_vector ? X::load(at) : X::all(__ldg(at));
              e[u][s] = X::all(Storage(0));
              if (args.edge.data == nullptr) continue;
              if (args.edge_vector) {
                e[u][s] = X::load(edge + edge_lane[s] + edge_row[u]);
              } else {
                e_one[u][s] = args.edge[edge_lane[s] + edge_row[u]];
              }
            }
        }
      }
      Acc combined[edgewise ? loads : 1][S::count];
      if constexpr (edgewise)
        combine(args.op, combined, [&](int u, int n) {
          return Operands<Acc>{
              widened(x[u][n / S::vector].values[n % S::vector]),
              args.edge_vector ? widened(e[u][n / S::vector].values[n % S::vector]) : e_one[u][n / S::vector]};
        });
      const unsigned row_ends = ends >> j & ((1u << loads) - 1);
      // The warp takes one path. The usual one: no row of any of its groups ends here, and no edge is missing.
      const bool whole = first + j + loads <= share.length || share.length == 0;  // without edges nothing is missing
      const bool usual = __all_sync(~0u, whole && row_ends == 0);
      const auto col_of = [&](int u) { return static_cast<std::uint32_t>(from_lane(cols, j + u)); };
      const auto row_of = [&](int u) { return static_cast<std::uint32_t>(max(from_lane(rows, j + u), 0)); };
      // Where no row ends, a row of X serves for the product and the sum and makes room; but sums of more features take
      // the registers that products would need till then.
      constexpr bool products = Sent == Message::returned, products_on_the_way = products && S::count <= 4,
                     products_first = products && !products_on_the_way;
      if constexpr (products_first) usual ? of_heads.multiply_row(x, row_of) : of_heads.multiply_each(x, row_of);
      if constexpr (by_heads) of_heads.begin_batch(share, first, j, usual, col_of, row_of);
      if constexpr (products_first) of_heads.find_gradients(share, first, j);
      // By the whole warp. Eight edges' values would take eight registers: each is shuffled when it is its turn.
      constexpr bool at_once = S::steps > 1 && !plain && !by_heads;
      Acc at_hand[loads] = {};
      if constexpr (at_once) {
#pragma unroll
        for (int u = 0; u < loads; ++u) at_hand[u] = from_lane(values, j + u);
      }
      const auto weight = [&](int u) __attribute__((always_inline)) {
        if constexpr (by_heads) {
          return of_heads.message(j, u);
        } else {
          return HeadMessage<Acc, 1>{{plain ? Acc(1) : at_once ? at_hand[u] : from_lane(values, j + u)}, {}};
        }
      };
      /// take(i, message) for each feature of the u-th edge; send_total, for what is added up beside them.
      const auto send = [&](int u, const auto& w, const auto& take) __attribute__((always_inline)) {
#pragma unroll
        for (int n = 0; n < S::count; ++n) {
          const Acc factor = w.weight[by_heads ? n / S::vector : 0];
          if constexpr (edgewise) {
            take(n, factor * combined[u][n]);
          } else {
            Acc value = widened(x[u][n / S::vector].values[n % S::vector]);
            if constexpr (Sent == Message::leaned) value = of_heads.feature(u, n, value);
            take(n, plain ? value : factor * value);
          }
        }
      };
      const auto send_total = [&](const auto& w, const auto& take) __attribute__((always_inline)) {
#pragma unroll
        for (int s = 0; s < totals; ++s) take(S::count + s, w.total[s]);
      };
      const int place = origin + first + j;
      if (usual) {
        if (one_by_one) state.settle();
        one_by_one = false;
        const auto add_up = [&](const auto& message_of) __attribute__((always_inline)) {
          state.template fold_batch<loads>(
              place, [&](int u, const auto& take) __attribute__((always_inline)) {
                const auto message = message_of(u);
                send(u, message, take);
                send_total(message, take);
              });
        };
        if constexpr (S::in_pairs) {
          fold_pairs(state, x, [&](int u) { return weight(u).weight[0]; });
        } else if constexpr (attends<Sent>) {
          if (args.attended.dropout.given()) {
            add_up(weight);
          } else {  // one instruction an edge less, of nine
            add_up([&](int u) __attribute__((always_inline)) { return of_heads.template message<false>(j, u); });
          }
        } else if constexpr (Sent == Message::returned) {
          if constexpr (products_on_the_way) of_heads.multiply_row(x, row_of);
          state.template fold_batch<loads, S::count>(
              place, [&](int u, const auto& take)
                         __attribute__((always_inline)) { send(u, of_heads.template message<false>(j, u), take); });
          if constexpr (products_on_the_way) of_heads.find_gradients(share, first, j);
#pragma unroll
          for (int s = 0; s < totals; ++s) state.fold(S::count + s, of_heads.total_of_batch(s), place);
        } else {
          add_up(weight);
        }
        return;
      }
      if constexpr (products_on_the_way) {
        of_heads.multiply_each(x, row_of);
        of_heads.find_gradients(share, first, j);
      }
      const bool ending = row_ends != 0;
      one_by_one = true;
      // Rows end, or edges are missing. Where rows are written as they are, or as means, no group waits for another's,
      // but `with_borders` where the row ends that began before the share.
      if constexpr (always_light || sometimes_light) {
        if (always_light || args.finish.light) {
          // Wide groups of eights spill with both ways of gathering (at 128 features in f16 reddit took 3053 us so, and
          // takes 2779).
          constexpr bool gathers_in_one_way = Sent == Message::source && S::vector >= 8 && S::lanes >= 16;
          const auto over_ends = [&]<bool with_borders>() __attribute__((always_inline)) {
            if (!gathers_in_one_way && __all_sync(~0u, ending)) {
              state.gather();
            } else {
              state.gather(ending);
            }
#pragma unroll
            for (int u = 0; u < loads; ++u) {
              const bool over = row_ends >> u & 1u;
              const NodeId row = from_lane(rows, j + u);
              const bool there = !with_borders || first + j + u < share.length;
              const auto fold = [&](int i, Acc message) __attribute__((always_inline)) {
                state.fold_if(there, i, message);
              };
              const auto w = weight(u);
              send(u, w, fold);
              send_total(w, fold);
              if constexpr (with_borders)
                if (over && head_open) cut.save_head(state.settled());
              const bool written = over && !(with_borders && head_open);
              here.write_gathered(state, row, written, first + j + u + 1 - begun);
              if constexpr (averaged) begun = over ? first + j + u + 1 : begun;
              if constexpr (with_borders) head_open = head_open && !over;
              state.clear_gathered(over);
            }
          };
          // Where lanes have several steps, or the path below is compiled too, one must serve for both: two take more
          // registers than there are.
          if (S::steps == 1 && always_light && __all_sync(~0u, whole && (row_ends == 0 || !head_open))) {
            over_ends.template operator()<false>();
          } else {
            over_ends.template operator()<true>();
          }
          return;
        }
      }
      if constexpr (!always_light) {
        state.settle();
#pragma unroll
        for (int u = 0; u < loads; ++u) {
          const NodeId row = from_lane(rows, j + u);
          const auto w = weight(u);
          if (first + j + u >= share.length) continue;
          const auto fold = [&](int i, Acc message) __attribute__((always_inline)) {
            state.fold(i, message, place + u);
          };
          send(u, w, fold);
          send_total(w, fold);
          if (!(row_ends >> u & 1u)) continue;
          state.settle();
          if (head_open) {
            cut.save_head(state);
            head_open = false;
          } else {
            here.write(state, row, first + j + u + 1 - begun);
          }
          begun = first + j + u + 1;
          state.clear();
        }
      }
    };
    if constexpr (weighs_ahead<Heads>) of_heads.weigh(share, first);
    constexpr int settle_every = 8 * loads;
    if constexpr (S::each == 1) {
#pragma unroll 1
      for (int j = 0; j < Chunk::size && first + j < share.most; j += loads) {
        batch(j);
        if constexpr (settle_every < Chunk::size)
          if ((j + loads) % settle_every == 0) state.settle();
      }
    } else {  // which register holds an edge must be known when this is compiled
#pragma unroll
      for (int j = 0; j < Chunk::size; j += loads) batch(j);
    }
    if ((first + Chunk::size) % settle_every == 0) state.settle();
  }
  state.settle();
  cut.finish(state);
}

}  // namespace weft::cuda
