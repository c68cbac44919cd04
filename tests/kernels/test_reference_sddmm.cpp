#include <gtest/gtest.h>

#include "kernels/raw_graph.hpp"

namespace weft::test {
namespace {

using Values = std::vector<double>;

// Sources [1, 10], [2, 20], [3, 30]; destinations [1, 2], [3, 4], [5, 6]; edges by id [2, 4] ... [32, 64].
struct reference_sddmm : ::testing::Test {
  RawGraph graph = five_edges();
  Values u{1, 10, 2, 20, 3, 30}, v{1, 2, 3, 4, 5, 6}, e{2, 4, 4, 8, 8, 16, 16, 32, 32, 64};
  Values out;

  const Values& values_of(Target target) const { return target == Target::u ? u : target == Target::v ? v : e; }
  Values run(SddmmOp op, Target lhs, Target rhs) {
    SddmmArgs args;
    args.graph = graph.view();
    args.op = op;
    args.lhs_target = lhs;
    args.rhs_target = rhs;
    args.width = 2;
    args.lhs = vectors(values_of(lhs), 2);
    args.rhs = vectors(values_of(rhs), 2);
    const std::int64_t row_size = op == SddmmOp::dot ? 1 : 2;
    out.assign(static_cast<std::size_t>(5 * row_size), -1);
    args.out = output(out, row_size);
    reference::sddmm(args);
    return out;
  }
};

TEST_F(reference_sddmm, dots_the_ends_of_every_edge_by_edge_id) {
  // Ids 0 and 4: u1 . v2 = 130; id 1: u2 . v0 = 63; id 2: u0 . v2 = 65; id 3: u0 . v0 = 21.
  EXPECT_EQ(run(SddmmOp::dot, Target::u, Target::v), (Values{130, 63, 65, 21, 130}));
  EXPECT_EQ(run(SddmmOp::dot, Target::v, Target::u), (Values{130, 63, 65, 21, 130}));
}

TEST_F(reference_sddmm, computes_every_op) {
  EXPECT_EQ(run(SddmmOp::add, Target::u, Target::v), (Values{7, 26, 4, 32, 6, 16, 2, 12, 7, 26}));
  EXPECT_EQ(run(SddmmOp::sub, Target::u, Target::v), (Values{-3, 14, 2, 28, -4, 4, 0, 8, -3, 14}));
  EXPECT_EQ(run(SddmmOp::mul, Target::u, Target::v), (Values{10, 120, 3, 60, 5, 60, 1, 20, 10, 120}));
  EXPECT_EQ(run(SddmmOp::div, Target::v, Target::u), (Values{2.5, 0.3, 1.0 / 3, 2.0 / 30, 5, 0.6, 1, 0.2, 2.5, 0.3}));
  EXPECT_EQ(run(SddmmOp::copy_lhs, Target::u, Target::v), (Values{2, 20, 3, 30, 1, 10, 1, 10, 2, 20}));
  EXPECT_EQ(run(SddmmOp::copy_rhs, Target::u, Target::v), (Values{5, 6, 1, 2, 5, 6, 1, 2, 5, 6}));
}

TEST_F(reference_sddmm, reads_every_target_on_either_side) {
  EXPECT_EQ(run(SddmmOp::copy_lhs, Target::e, Target::u), e);
  EXPECT_EQ(run(SddmmOp::mul, Target::e, Target::u), (Values{4, 80, 12, 240, 8, 160, 16, 320, 64, 1280}));
  EXPECT_EQ(run(SddmmOp::sub, Target::v, Target::e), (Values{3, 2, -3, -6, -3, -10, -15, -30, -27, -58}));
  EXPECT_EQ(run(SddmmOp::dot, Target::u, Target::u), (Values{404, 909, 101, 101, 404}));
}

TEST_F(reference_sddmm, never_reads_an_operand_the_op_does_not_use) {
  SddmmArgs args;
  args.graph = graph.view();
  args.op = SddmmOp::copy_lhs;
  args.width = 2;
  args.lhs = vectors(u, 2);
  out.assign(10, -1);
  args.out = output(out, 2);
  reference::sddmm(args);
  EXPECT_EQ(out[0], 2);
}

TEST_F(reference_sddmm, dots_a_head_at_a_time_and_reports_absolute_terms) {
  // Two heads of one feature each: head h is u[h] * v[h].
  Values absolute(10);
  v = {-1, 2, 3, 4, 5, 6};
  SddmmArgs args;
  args.graph = graph.view();
  args.heads = 2;
  args.width = 1;
  args.lhs = heads(u, 2);
  args.rhs = heads(v, 2);
  out.assign(10, -1);
  args.out = output(out, 2);
  reference::sddmm(args, absolute.data());
  EXPECT_EQ(out, (Values{10, 120, -3, 60, 5, 60, -1, 20, 10, 120}));
  EXPECT_EQ(absolute, (Values{10, 120, 3, 60, 5, 60, 1, 20, 10, 120}));
}

}  // namespace
}  // namespace weft::test
