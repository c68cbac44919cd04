#include <gtest/gtest.h>

#include <vector>

#include "core/names.hpp"
#include "core/nearest.hpp"
#include "support/errors.hpp"
#include "weft/types.hpp"
#include "weft/version.hpp"

namespace weft {
namespace {

using test::expect_refused;

// Every enumerator's name must lead back to it, and an unknown one to an Error that lists them all.
template <class Enum>
void round_trip(std::initializer_list<Enum> values, Enum (*parse)(std::string_view), std::string_view what) {
  std::string message;
  try {
    parse("no such name");
  } catch (const Error& error) {
    message = error.what();
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  }
  EXPECT_NE(message.find(what), message.npos) << message;
  EXPECT_NE(message.find("'no such name'"), message.npos) << message;
  for (const Enum value : values) {
    EXPECT_EQ(parse(name(value)), value) << name(value);
    EXPECT_TRUE(test::names(message, name(value))) << message << " / " << name(value);
  }
  EXPECT_THROW(parse(""), Error);
  EXPECT_THROW(parse(std::string(name(*values.begin())) + " "), Error);
}

TEST(names, lead_back_to_their_enumerators) {
  round_trip({Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f64, Dtype::i32, Dtype::i64}, parse_dtype, "dtype");
  round_trip({SpmmOp::copy_u, SpmmOp::copy_e, SpmmOp::u_add_e, SpmmOp::u_sub_e, SpmmOp::u_mul_e, SpmmOp::u_div_e},
             parse_spmm_op, "spmm op");
  round_trip({Reduce::sum, Reduce::mean, Reduce::max, Reduce::min}, parse_reduce, "reducer");
  round_trip(
      {SddmmOp::dot, SddmmOp::add, SddmmOp::sub, SddmmOp::mul, SddmmOp::div, SddmmOp::copy_lhs, SddmmOp::copy_rhs},
      parse_sddmm_op, "sddmm op");
  round_trip({Target::u, Target::v, Target::e}, parse_target, "target");
  round_trip({Score::gat, Score::gatv2, Score::dot}, parse_score, "attention score");
}

TEST(names, are_understood_in_either_case_and_by_their_usual_spellings) {
  EXPECT_EQ(parse_reduce("MEAN"), Reduce::mean);
  for (const char* text : {"f32", "F32", "fp32", "float32", "float"}) EXPECT_EQ(parse_dtype(text), Dtype::f32) << text;
  for (const char* text : {"fp16", "float16", "half", "Half"})
    EXPECT_EQ(parse_floating_dtype(text), Dtype::f16) << text;
  EXPECT_EQ(parse_floating_dtype("bfloat16"), Dtype::bf16);
  for (const char* text : {"float64", "double"}) EXPECT_EQ(parse_floating_dtype(text), Dtype::f64) << text;
  expect_refused([] { parse_floating_dtype("i32"); }, "expected one of f32, f16, bf16, f64");
}

TEST(names, that_are_mistyped_are_answered_with_the_one_that_was_meant) {
  expect_refused([] { parse_reduce("maen"); }, "reducer 'maen' is not known: did you mean mean? expected one of sum");
  // Another spelling leads to the name that is printed everywhere.
  expect_refused([] { parse_dtype("flaot16"); }, "did you mean f16? expected one of f32, f16, bf16, f64, i32, i64");
  expect_refused([] { parse_reduce("everything"); }, "reducer 'everything' is not known: expected one of");
}

TEST(names, of_all_enumerators_come_in_their_order) {
  EXPECT_EQ(all_names<Reduce>(), (std::vector<std::string_view>{"sum", "mean", "max", "min"}));
}

TEST(names, of_error_codes_are_the_ones_messages_use) {
  EXPECT_EQ(name(ErrorCode::invalid_argument), "invalid_argument");
  EXPECT_EQ(name(ErrorCode::invalid_graph), "invalid_graph");
  EXPECT_EQ(name(ErrorCode::invalid_file), "invalid_file");
  EXPECT_EQ(name(ErrorCode::io), "io");
  EXPECT_EQ(name(ErrorCode::out_of_memory), "out_of_memory");
  EXPECT_EQ(name(ErrorCode::unsupported), "unsupported");
  EXPECT_EQ(name(ErrorCode::internal), "internal");
}

TEST(names, of_values_that_are_no_enumerator_still_print) {
  EXPECT_EQ(name(static_cast<Dtype>(77)), "unknown");
  EXPECT_THROW(size_of(static_cast<Dtype>(77)), Error);
}

TEST(enums, outside_their_enumerators_are_refused) {
  EXPECT_NO_THROW(check_enum(Target::e, Target::e, "lhs target"));
  expect_refused([] { check_enum(static_cast<Target>(3), Target::e, "lhs target"); }, "lhs target");
}

TEST(dtypes, know_their_size_and_kind) {
  EXPECT_EQ(size_of(Dtype::f16), 2u);
  EXPECT_EQ(size_of(Dtype::bf16), 2u);
  EXPECT_EQ(size_of(Dtype::f32), 4u);
  EXPECT_EQ(size_of(Dtype::i32), 4u);
  EXPECT_EQ(size_of(Dtype::f64), 8u);
  EXPECT_EQ(size_of(Dtype::i64), 8u);
  EXPECT_TRUE(is_floating(Dtype::bf16) && is_floating(Dtype::f64));
  EXPECT_FALSE(is_floating(Dtype::i32) || is_floating(Dtype::i64));
  static_assert(dtype_of<Half> == Dtype::f16 && dtype_of<std::int64_t> == Dtype::i64);
}

TEST(devices, are_printed_and_parsed_alike) {
  EXPECT_EQ(to_string(Device{}), "cpu");
  EXPECT_EQ(to_string(Device{DeviceKind::cuda, 3}), "cuda:3");
  EXPECT_EQ(parse_device("cpu"), Device{});
  EXPECT_EQ(parse_device("cuda"), (Device{DeviceKind::cuda, 0}));
  EXPECT_EQ(parse_device("cuda:12"), (Device{DeviceKind::cuda, 12}));
  EXPECT_EQ(parse_device("CPU"), Device{});
  EXPECT_EQ(parse_device("gpu"), (Device{DeviceKind::cuda, 0}));
  EXPECT_EQ(parse_device("GPU:1"), (Device{DeviceKind::cuda, 1}));
  for (const char* text : {"", "gpu:", "cuda:", "cuda:-1", "cuda:1x", "cuda:99999999999", "cpu "})
    expect_refused([text] { parse_device(text); }, "device");
  expect_refused([] { parse_device("cdua"); }, "device 'cdua' is not known: did you mean cuda? expected one of cpu");
  // Another spelling leads to the name that is printed.
  expect_refused([] { parse_device("gpuu"); },
                 "device 'gpuu' is not known: did you mean cuda? expected one of cpu, cuda,");
  expect_refused([] { parse_device("gup:1"); }, "did you mean cuda:N? expected one of cpu, cuda, cuda:N");
  expect_refused([] { parse_device("anything"); }, "device 'anything' is not known: expected one of cpu, cuda, cuda:N");
}

TEST(version, is_the_one_of_the_header) {
  EXPECT_EQ(version(), std::to_string(WEFT_VERSION_MAJOR) + "." + std::to_string(WEFT_VERSION_MINOR) + "." +
                           std::to_string(WEFT_VERSION_PATCH));
  EXPECT_FALSE(build_commit().empty());
}

TEST(nearest, finds_what_was_mistyped_and_nothing_far_off) {
  const std::vector<std::string_view> names{"doctor", "info", "convert", "generate", "explain", "bench"};
  EXPECT_EQ(nearest("benhc", names), "bench");
  EXPECT_EQ(nearest("inof", names), "info");
  EXPECT_EQ(nearest("generator", names), "generate");
  EXPECT_EQ(nearest("convret", names), "convert");
  EXPECT_EQ(nearest("nonsense", names), "");
  const std::vector<std::string_view> models{"gcn", "sage", "gin", "gat", "gatv2"};
  EXPECT_EQ(nearest("gncc", models), "gcn");
  EXPECT_EQ(nearest("g", models), "");
  EXPECT_EQ(nearest("", names), "");
  EXPECT_EQ(nearest("x", std::vector<std::string_view>{}), "");
}

TEST(nearest, of_names_as_near_is_the_one_that_has_more_of_what_was_typed_and_then_the_first) {
  const std::vector<std::string_view> models{"gcn", "sage", "gin", "gat", "gatv2"};
  EXPECT_EQ(nearest("gat2", models), "gatv2");
  EXPECT_EQ(nearest("gatv", models), "gatv2");
  EXPECT_EQ(nearest("gaat", models), "gat");
  EXPECT_EQ(nearest("gan", models), "gcn");
  const std::vector<std::string_view> operators{"spmm", "sddmm", "spmv"};
  EXPECT_EQ(nearest("spm", operators), "spmm");
  EXPECT_EQ(nearest("spmw", operators), "spmm");
}

TEST(nearest, counts_changes_insertions_omissions_and_swaps_once) {
  EXPECT_EQ(typing_distance("rmat", "rmat"), 0u);
  EXPECT_EQ(typing_distance("rmta", "rmat"), 1u);
  EXPECT_EQ(typing_distance("rmt", "rmat"), 1u);
  EXPECT_EQ(typing_distance("rmaat", "rmat"), 1u);
  EXPECT_EQ(typing_distance("Rmat", "rmat"), 1u);
  EXPECT_EQ(typing_distance("", "rmat"), 4u);
  EXPECT_EQ(typing_distance("rmat", ""), 4u);
}

}  // namespace
}  // namespace weft
