#include "bench/reference.hpp"

#include <cstddef>

#include "core/parallel.hpp"

namespace weft::tool {
namespace {

Reference blank(std::int64_t rows, std::int64_t row_size, const Sample& sample) {
  Reference reference;
  reference.values = Tensor::empty(Shape(rows, row_size), Dtype::f64, "the reference's result");
  reference.absolute = Tensor::zeros(Shape(rows, row_size), Dtype::f64, "the reference's absolute sums");
  reference.how = sample.describe();
  return reference;
}

template <class F>
void over_rows(const GraphView& graph, F&& body) {
  parallel_ranges(default_threads(), graph.num_rows, 64, [&](std::int64_t begin, std::int64_t end) {
    GraphView part = graph;
    part.num_rows = end - begin;
    part.offsets += begin;
    body(part, begin);
  });
}

// An operand by destination as a range of rows that starts at `begin` sees it.
void skip_rows(Operand& operand, Target target, std::int64_t begin) {
  if (target == Target::v && operand.given())
    operand.data = static_cast<const std::byte*>(operand.data) +
                   begin * operand.row_stride * static_cast<std::int64_t>(size_of(operand.dtype));
}

}  // namespace

Reference by_row_reference(const Sample& sample, std::int64_t row_size) {
  Reference reference = blank(sample.num_rows(), row_size, sample);
  reference.origin = [&sample](std::int64_t i) { return sample.row(i); };
  reference.factor = [&sample](std::int64_t i) { return sum_factor(sample.degree(i)); };
  reference.terms = [&sample](std::int64_t i) { return sample.degree(i); };
  return reference;
}

Reference by_edge_reference(const Sample& sample, std::int64_t row_size, std::int64_t terms) {
  Reference reference = blank(sample.num_edges(), row_size, sample);
  reference.origin = [&sample](std::int64_t i) { return sample.edge(i); };
  reference.factor = [terms](std::int64_t) { return sum_factor(terms); };
  reference.terms = [terms](std::int64_t) { return terms; };
  return reference;
}

void reference_spmm(const SpmmArgs& args, double* absolute) {
  const std::int64_t row_size = args.heads * args.width;
  over_rows(args.graph, [&](const GraphView& rows, std::int64_t begin) {
    SpmmArgs part = args;
    part.graph = rows;
    part.out.data = static_cast<double*>(args.out.data) + begin * row_size;
    reference::spmm(part, absolute + begin * row_size);
  });
}

void reference_sddmm(const SddmmArgs& args, double* absolute) {
  over_rows(args.graph, [&](const GraphView& rows, std::int64_t begin) {
    SddmmArgs part = args;
    part.graph = rows;
    skip_rows(part.lhs, args.lhs_target, begin);
    skip_rows(part.rhs, args.rhs_target, begin);
    reference::sddmm(part, absolute);
  });
}

}  // namespace weft::tool
