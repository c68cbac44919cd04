// torch.ops.weft: the operators' schemas and implementations, the same on either device.
#include <torch/csrc/stable/library.h>

#include "graphs.hpp"
#include "operators.hpp"

STABLE_TORCH_LIBRARY(weft, m) {
  m.def("graph_hold(Tensor[] rows, int num_sources) -> int");
  m.def(
      "graph_from_edges(Tensor sources, Tensor destinations, int num_sources, int num_destinations) -> (int, "
      "Tensor[])");
  m.def(
      "graph_rows(Tensor edge_index, SymInt num_sources, SymInt num_destinations) -> (Tensor, Tensor, Tensor, Tensor)");
  m.def("graph_transposed(Tensor[] rows, int key, int num_sources) -> (int, Tensor[])");
  m.def("check_rows(Tensor[] rows, int num_sources) -> ()");
#define WEFT_GRAPH "Tensor[] rows, SymInt key, SymInt num_sources, "
  m.def("spmm(" WEFT_GRAPH "Tensor? x, Tensor? edge, str op, str reduce) -> (Tensor, Tensor)");
  m.def("spmm_backward(" WEFT_GRAPH
        "Tensor? x, Tensor? edge, Tensor? winners, Tensor out_grad, str op, str reduce, bool want_x, bool want_edge) "
        "-> (Tensor, Tensor)");
#define WEFT_SCALES "Tensor? target_scale, Tensor? source_scale, Tensor? self_scale"
  m.def("spmm_scaled(" WEFT_GRAPH "Tensor x, Tensor? edge, " WEFT_SCALES ") -> Tensor");
  m.def("spmm_scaled_backward(" WEFT_GRAPH "Tensor? x, Tensor? edge, Tensor out_grad, " WEFT_SCALES
        ", bool want_x, bool want_edge) -> (Tensor, Tensor)");
  m.def("spmm_scaled_held(int key, Tensor x, Tensor? edge, " WEFT_SCALES ") -> Tensor");
  m.def("spmm_scaled_held_backward(int key, Tensor? x, Tensor? edge, Tensor out_grad, " WEFT_SCALES
        ", bool want_x, bool want_edge) -> (Tensor?, Tensor?)");
#undef WEFT_SCALES
  m.def("spmm_held(int key, Tensor? x, Tensor? edge, int op, int reduce) -> (Tensor, Tensor?)");
  m.def(
      "spmm_held_backward(int key, Tensor? x, Tensor? edge, Tensor? winners, Tensor out_grad, int op, int reduce, bool "
      "want_x, bool want_edge) -> (Tensor?, Tensor?)");
  m.def("sddmm(" WEFT_GRAPH "Tensor? lhs, Tensor? rhs, str op, str left, str right) -> Tensor");
  m.def("sddmm_backward(" WEFT_GRAPH
        "Tensor? lhs, Tensor? rhs, Tensor out_grad, str op, str left, str right, bool want_lhs, bool want_rhs) "
        "-> (Tensor, Tensor)");
  m.def("sddmm_held(int key, Tensor? lhs, Tensor? rhs, int op, int left, int right) -> Tensor");
  m.def(
      "sddmm_held_backward(int key, Tensor? lhs, Tensor? rhs, Tensor out_grad, int op, int left, int right, bool "
      "want_lhs, bool want_rhs) -> (Tensor?, Tensor?)");
  m.def("edge_softmax(" WEFT_GRAPH "Tensor scores) -> Tensor");
  m.def("edge_softmax_backward(" WEFT_GRAPH "Tensor alpha, Tensor alpha_grad) -> Tensor");
  m.def("edge_softmax_held(int key, Tensor scores) -> Tensor");
  m.def("edge_softmax_held_backward(int key, Tensor alpha, Tensor alpha_grad) -> Tensor");
#define WEFT_ATTENTION "Tensor value, Tensor src, Tensor dst, Tensor? attn, Tensor? bias, Tensor? edge, "
#define WEFT_SCORED "float slope, float scale, float dropout, SymInt seed, Tensor? step"
#define WEFT_KEPT "Tensor out, Tensor row_max, Tensor row_sum, Tensor out_grad, "
#define WEFT_GRADIENTS " -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)"
  m.def("attention(" WEFT_GRAPH WEFT_ATTENTION "str score, " WEFT_SCORED ") -> (Tensor, Tensor, Tensor)");
  m.def("attention_backward(" WEFT_GRAPH WEFT_ATTENTION WEFT_KEPT "str score, " WEFT_SCORED ")" WEFT_GRADIENTS);
  m.def("attention_held(int key, " WEFT_ATTENTION "int score, " WEFT_SCORED ") -> (Tensor, Tensor, Tensor)");
  m.def("attention_held_backward(int key, " WEFT_ATTENTION WEFT_KEPT "int score, " WEFT_SCORED ")" WEFT_GRADIENTS);
#undef WEFT_GRADIENTS
#undef WEFT_KEPT
#define WEFT_SAMPLE "str method, int width, int seed, int step"
  m.def("graph_sampled(" WEFT_GRAPH WEFT_SAMPLE ") -> (int, Tensor[], Tensor)");
  m.def("spmm_sampled(" WEFT_GRAPH "Tensor? x, Tensor? edge, str op, str reduce, " WEFT_SAMPLE
        ", bool scaled) -> Tensor");
  m.def("attention_sampled(" WEFT_GRAPH WEFT_ATTENTION "str score, float slope, float scale, " WEFT_SAMPLE
        ") -> Tensor");
  m.def("segment_reduce(Tensor x, Tensor offsets, str reduce, bool trusted) -> Tensor");
  m.def("segment_reduce_backward(Tensor x, Tensor offsets, Tensor out_grad, str reduce) -> Tensor");
  m.def("shuffle_nodes(Tensor nodes, int first, int count, int seed, int epoch) -> Tensor");
  m.def("draw_neighbours(" WEFT_GRAPH
        "Tensor nodes, int fanout, int seed, int step, int hop, int first, Tensor(a!) numbers) -> (Tensor, Tensor, "
        "Tensor, Tensor)");
  m.def("draw_subgraph(" WEFT_GRAPH
        "str method, int count, int length, Tensor? roots, int seed, int step, bool counting, Tensor(a!) numbers) -> "
        "(Tensor, Tensor, Tensor, Tensor)");
#undef WEFT_SAMPLE
#undef WEFT_GRAPH
#undef WEFT_ATTENTION
#undef WEFT_SCORED
}

STABLE_TORCH_LIBRARY_IMPL(weft, CompositeExplicitAutograd, m) {
  m.impl("graph_hold", TORCH_BOX(&weft::pytorch::graph_hold));
  m.impl("graph_from_edges", TORCH_BOX(&weft::pytorch::graph_from_edges));
  m.impl("graph_rows", TORCH_BOX(&weft::pytorch::graph_rows));
  m.impl("graph_transposed", TORCH_BOX(&weft::pytorch::graph_transposed));
  m.impl("check_rows", TORCH_BOX(&weft::pytorch::check_rows));
  m.impl("spmm", TORCH_BOX(&weft::pytorch::spmm));
  m.impl("spmm_backward", TORCH_BOX(&weft::pytorch::spmm_backward));
  m.impl("spmm_scaled", TORCH_BOX(&weft::pytorch::spmm_scaled));
  m.impl("spmm_scaled_backward", TORCH_BOX(&weft::pytorch::spmm_scaled_backward));
  m.impl("spmm_scaled_held", TORCH_BOX(&weft::pytorch::spmm_scaled_held));
  m.impl("spmm_scaled_held_backward", TORCH_BOX(&weft::pytorch::spmm_scaled_held_backward));
  m.impl("spmm_held", TORCH_BOX(&weft::pytorch::spmm_held));
  m.impl("spmm_held_backward", TORCH_BOX(&weft::pytorch::spmm_held_backward));
  m.impl("sddmm", TORCH_BOX(&weft::pytorch::sddmm));
  m.impl("sddmm_backward", TORCH_BOX(&weft::pytorch::sddmm_backward));
  m.impl("sddmm_held", TORCH_BOX(&weft::pytorch::sddmm_held));
  m.impl("sddmm_held_backward", TORCH_BOX(&weft::pytorch::sddmm_held_backward));
  m.impl("edge_softmax", TORCH_BOX(&weft::pytorch::edge_softmax));
  m.impl("edge_softmax_backward", TORCH_BOX(&weft::pytorch::edge_softmax_backward));
  m.impl("edge_softmax_held", TORCH_BOX(&weft::pytorch::edge_softmax_held));
  m.impl("edge_softmax_held_backward", TORCH_BOX(&weft::pytorch::edge_softmax_held_backward));
  m.impl("attention", TORCH_BOX(&weft::pytorch::attention));
  m.impl("attention_backward", TORCH_BOX(&weft::pytorch::attention_backward));
  m.impl("attention_held", TORCH_BOX(&weft::pytorch::attention_held));
  m.impl("attention_held_backward", TORCH_BOX(&weft::pytorch::attention_held_backward));
  m.impl("graph_sampled", TORCH_BOX(&weft::pytorch::graph_sampled));
  m.impl("spmm_sampled", TORCH_BOX(&weft::pytorch::spmm_sampled));
  m.impl("attention_sampled", TORCH_BOX(&weft::pytorch::attention_sampled));
  m.impl("segment_reduce", TORCH_BOX(&weft::pytorch::segment_reduce));
  m.impl("segment_reduce_backward", TORCH_BOX(&weft::pytorch::segment_reduce_backward));
  m.impl("shuffle_nodes", TORCH_BOX(&weft::pytorch::shuffle_nodes));
  m.impl("draw_neighbours", TORCH_BOX(&weft::pytorch::draw_neighbours));
  m.impl("draw_subgraph", TORCH_BOX(&weft::pytorch::draw_subgraph));
}
