#include "bench/reference.hpp"

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
  parallel_ranges(default_threads(), args.graph.num_rows, 64, [&](std::int64_t begin, std::int64_t end) {
    SpmmArgs part = args;
    part.graph.num_rows = end - begin;
    part.graph.offsets += begin;
    part.out.data = static_cast<double*>(args.out.data) + begin * row_size;
    reference::spmm(part, absolute + begin * row_size);
  });
}

}  // namespace weft::tool
