#include "core/names.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "weft/types.hpp"

namespace weft {
namespace {

constexpr NameTable<ErrorCode, 8> error_names{{{ErrorCode::invalid_argument, "invalid_argument"},
                                               {ErrorCode::invalid_graph, "invalid_graph"},
                                               {ErrorCode::invalid_file, "invalid_file"},
                                               {ErrorCode::io, "io"},
                                               {ErrorCode::out_of_memory, "out_of_memory"},
                                               {ErrorCode::device, "device"},
                                               {ErrorCode::unsupported, "unsupported"},
                                               {ErrorCode::internal, "internal"}}};
constexpr NameTable<Dtype, 6> dtype_names{{{Dtype::f32, "f32"},
                                           {Dtype::f16, "f16"},
                                           {Dtype::bf16, "bf16"},
                                           {Dtype::f64, "f64"},
                                           {Dtype::i32, "i32"},
                                           {Dtype::i64, "i64"}}};
constexpr NameTable<Dtype, 4> floating_names{
    {{Dtype::f32, "f32"}, {Dtype::f16, "f16"}, {Dtype::bf16, "bf16"}, {Dtype::f64, "f64"}}};
constexpr NameTable<Dtype, 9> dtype_aliases{{{Dtype::f32, "fp32"},
                                             {Dtype::f32, "float32"},
                                             {Dtype::f32, "float"},
                                             {Dtype::f16, "fp16"},
                                             {Dtype::f16, "float16"},
                                             {Dtype::f16, "half"},
                                             {Dtype::bf16, "bfloat16"},
                                             {Dtype::f64, "float64"},
                                             {Dtype::f64, "double"}}};
constexpr NameTable<SpmmOp, 6> spmm_op_names{{{SpmmOp::copy_u, "copy_u"},
                                              {SpmmOp::copy_e, "copy_e"},
                                              {SpmmOp::u_add_e, "u_add_e"},
                                              {SpmmOp::u_sub_e, "u_sub_e"},
                                              {SpmmOp::u_mul_e, "u_mul_e"},
                                              {SpmmOp::u_div_e, "u_div_e"}}};
constexpr NameTable<Reduce, 4> reduce_names{
    {{Reduce::sum, "sum"}, {Reduce::mean, "mean"}, {Reduce::max, "max"}, {Reduce::min, "min"}}};
constexpr NameTable<SddmmOp, 7> sddmm_op_names{{{SddmmOp::dot, "dot"},
                                                {SddmmOp::add, "add"},
                                                {SddmmOp::sub, "sub"},
                                                {SddmmOp::mul, "mul"},
                                                {SddmmOp::div, "div"},
                                                {SddmmOp::copy_lhs, "copy_lhs"},
                                                {SddmmOp::copy_rhs, "copy_rhs"}}};
constexpr NameTable<Target, 3> target_names{{{Target::u, "u"}, {Target::v, "v"}, {Target::e, "e"}}};
constexpr NameTable<Score, 3> score_names{{{Score::gat, "gat"}, {Score::gatv2, "gatv2"}, {Score::dot, "dot"}}};

}  // namespace

std::string_view name(ErrorCode code) { return name_in(error_names, code); }
std::string_view name(Dtype dtype) { return name_in(dtype_names, dtype); }
std::string_view name(SpmmOp op) { return name_in(spmm_op_names, op); }
std::string_view name(Reduce reduce) { return name_in(reduce_names, reduce); }
std::string_view name(SddmmOp op) { return name_in(sddmm_op_names, op); }
std::string_view name(Target target) { return name_in(target_names, target); }
std::string_view name(Score score) { return name_in(score_names, score); }

Dtype parse_dtype(std::string_view text) { return parse_in(dtype_names, "dtype", text, dtype_aliases); }
Dtype parse_floating_dtype(std::string_view text) { return parse_in(floating_names, "dtype", text, dtype_aliases); }
SpmmOp parse_spmm_op(std::string_view text) { return parse_in(spmm_op_names, "spmm op", text); }
Reduce parse_reduce(std::string_view text) { return parse_in(reduce_names, "reducer", text); }
SddmmOp parse_sddmm_op(std::string_view text) { return parse_in(sddmm_op_names, "sddmm op", text); }
Target parse_target(std::string_view text) { return parse_in(target_names, "target", text); }
Score parse_score(std::string_view text) { return parse_in(score_names, "attention score", text); }

std::string to_string(Device device) {
  return device.kind == DeviceKind::cpu ? "cpu" : fmt::format("cuda:{}", device.index);
}

Device parse_device(std::string_view text) {
  const std::string given = lower_case(text);
  if (given == "cpu") return {};
  for (const std::string_view kind : {"cuda", "gpu"}) {
    if (given == kind) return {DeviceKind::cuda, 0};
    if (!given.starts_with(std::string(kind) + ":")) continue;
    const std::string_view digits = std::string_view(given).substr(kind.size() + 1);
    int index = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error == std::errc{} && end == digits.data() + digits.size() && index >= 0) return {DeviceKind::cuda, index};
  }
  // Another spelling leads to the name that is printed.
  constexpr std::array<std::string_view, 5> spellings{"cpu", "cuda", "cuda:N", "gpu", "gpu:N"};
  constexpr std::array<std::string_view, 5> printed{"cpu", "cuda", "cuda:N", "cuda", "cuda:N"};
  const auto near = std::ranges::find(spellings, nearest(given, spellings)) - spellings.begin();
  const bool any = near < std::ssize(spellings);
  fail_unknown("device", text, std::span(printed).first(3), any ? printed[static_cast<std::size_t>(near)] : "");
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower;
}

void fail_unknown(std::string_view what, std::string_view text, std::span<const std::string_view> names,
                  std::string_view meant) {
  fail(ErrorCode::invalid_argument, "{} '{}' is not known: {}expected one of {}", what, text, did_you_mean(meant),
       fmt::join(names, ", "));
}

void fail_unknown(std::string_view what, std::string_view text, std::span<const std::string_view> names) {
  fail_unknown(what, text, names, nearest(lower_case(text), names));
}

}  // namespace weft
