#include "core/names.hpp"

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

Dtype parse_dtype(std::string_view text) { return parse_in(dtype_names, "dtype", text); }
SpmmOp parse_spmm_op(std::string_view text) { return parse_in(spmm_op_names, "spmm op", text); }
Reduce parse_reduce(std::string_view text) { return parse_in(reduce_names, "reducer", text); }
SddmmOp parse_sddmm_op(std::string_view text) { return parse_in(sddmm_op_names, "sddmm op", text); }
Target parse_target(std::string_view text) { return parse_in(target_names, "target", text); }
Score parse_score(std::string_view text) { return parse_in(score_names, "attention score", text); }

std::string to_string(Device device) {
  return device.kind == DeviceKind::cpu ? "cpu" : fmt::format("cuda:{}", device.index);
}

Device parse_device(std::string_view text) {
  if (text == "cpu") return {};
  if (text == "cuda") return {DeviceKind::cuda, 0};
  if (text.starts_with("cuda:")) {
    const std::string_view digits = text.substr(5);
    int index = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error == std::errc{} && end == digits.data() + digits.size() && index >= 0) return {DeviceKind::cuda, index};
  }
  fail(ErrorCode::invalid_argument, "device '{}' is not known: expected cpu, cuda or cuda:N", text);
}

}  // namespace weft
