#include "bench/request.hpp"

#include <fmt/format.h>

#include <limits>

#include "option_text.hpp"
#include "options.hpp"
#include "outputs.hpp"
#include "plan/cuda/windows.hpp"

namespace weft::tool {
namespace {

void read_variant(const BenchOptions& options, Setup& setup) {
  const OpKind kind = setup.desc.kind;
  const std::string& text = options.variant;
  if (kind == OpKind::spmm && options.unweighted) setup.spmm_op = SpmmOp::copy_u;
  if (!text.empty()) {
    if (kind == OpKind::spmm)
      setup.spmm_op = as_usage("--op", [&] { return parse_spmm_op(text); });
    else if (kind == OpKind::sddmm)
      setup.sddmm_op = as_usage("--op", [&] { return parse_sddmm_op(text); });
    else if (kind == OpKind::attention)
      setup.score = as_usage("--op", [&] { return parse_score(text); });
    else
      throw UsageError(fmt::format("--op is '{}': {} has no variants", text, name(kind)));
  }
  if (kind == OpKind::spmm) {
    if (options.unweighted && uses_edge(setup.spmm_op))
      throw UsageError(
          fmt::format("--unweighted leaves {} without edge values: drop one of the two", name(setup.spmm_op)));
    setup.desc.weighted = uses_edge(setup.spmm_op);
    setup.edge_vectors = options.edge_vectors;
  } else {
    if (options.unweighted && kind != OpKind::spmv)
      throw UsageError(fmt::format("--unweighted: {} has no edge weights to leave out", name(kind)));
    setup.desc.weighted = !options.unweighted;
  }
  if (options.edge_vectors && (kind != OpKind::spmm || !uses_edge(setup.spmm_op)))
    throw UsageError("--edge-vectors: only spmm with an --op that reads edges has edge features");
  if (options.backward && kind != OpKind::attention && options.linear.empty())
    throw UsageError(
        fmt::format("--backward: {} is timed forward only; attention and spmm with --linear have it", name(kind)));
  setup.backward = options.backward;
  setup.desc.reduce = as_usage("--reduce", [&] { return parse_reduce(options.reduce); });
  if (setup.desc.reduce != Reduce::sum && kind != OpKind::spmm && kind != OpKind::segment)
    throw UsageError(fmt::format("--reduce is '{}': only spmm and segment have reducers", options.reduce));
}

/// --linear: what else is asked for must be what spmm_linear has.
void read_linear(const BenchOptions& options, BenchRequest& request) {
  if (options.linear.empty()) return;
  Setup& setup = request.setup;
  const auto refuse = [](std::string_view why) { throw UsageError(fmt::format("--linear {}", why)); };
  if (setup.desc.kind != OpKind::spmm)
    refuse(fmt::format("is for the sums of spmm: {} has none", name(setup.desc.kind)));
  if ((setup.spmm_op != SpmmOp::copy_u && setup.spmm_op != SpmmOp::u_mul_e) || setup.edge_vectors)
    refuse("takes --op copy_u or u_mul_e, with one value per edge");
  if (setup.desc.reduce != Reduce::sum && setup.desc.reduce != Reduce::mean) refuse("takes --reduce sum or mean");
  if (setup.desc.heads != 1) refuse("takes one head");
  if (setup.backward && setup.desc.reduce == Reduce::mean) refuse("takes --reduce sum with --backward");
  if (!options.policies.empty() || options.peers || request.subgraphs > 0 || request.sample_widths.size() > 1)
    refuse("is timed by itself: leave --policy, --peers, --subgraphs and --sample-width out");
  request.linear_same = options.linear == "same";
  if (!request.linear_same) setup.linear = parse_count("--linear", options.linear, 1, 1 << 20);
}

}  // namespace

bool fits_windows(const Setup& setup) {
  switch (setup.desc.kind) {
    case OpKind::spmm: return setup.spmm_op == SpmmOp::u_mul_e && !setup.edge_vectors;
    case OpKind::sddmm: return setup.sddmm_op == SddmmOp::dot;
    case OpKind::attention:
      return setup.score == Score::gat || (setup.score == Score::dot && score_depth_fits_windows(setup.desc.width));
    default: return false;
  }
}

BenchRequest read(const BenchOptions& options) {
  BenchRequest request;
  OpDesc& desc = request.setup.desc;
  desc.kind = as_usage("OP", [&] { return parse_op_kind(options.op); });
  read_variant(options, request.setup);
  desc.heads = parse_count("--heads", options.heads, 1, 4096);
  request.widths = parse_widths(desc.kind, desc.heads, options.width);
  request.dtypes = parse_dtypes(options.dtype);
  for (const std::string& text : options.policies)
    request.policies.push_back(
        text == "auto" ? NamedPolicy{} : NamedPolicy{text, as_usage("--policy", [&] { return parse_policy(text); })});
  if (request.policies.empty()) request.policies.emplace_back();
  request.subgraphs = parse_count("--subgraphs", options.subgraphs, 0, 1'000'000);
  request.setup.seed =
      static_cast<std::uint64_t>(parse_count("--seed", options.seed, 0, std::numeric_limits<std::int64_t>::max()));
  if (request.subgraphs > 0 && options.backward)
    throw UsageError("--backward needs the transpose, which --subgraphs would not count: leave one of the two out");
  check_one_on_stdout(options.json, options.report);
  if (request.subgraphs > 0 && !options.report.empty())
    throw UsageError("--report shows whole graphs: leave it or --subgraphs out");
  request.sample_widths = parse_sample_widths(options.sample, options.sample_width);
  if (!options.sample.empty())
    request.method = as_usage("--sample", [&] { return parse_edge_sampling(options.sample); });
  if (!request.sample_widths.empty() && request.subgraphs > 0)
    throw UsageError("--sample-width is for whole graphs: leave it or --subgraphs out");
  request.sample_widths.insert(request.sample_widths.begin(), 0);
  read_linear(options, request);
  request.options.peers = options.peers;
  request.options.repeat = static_cast<int>(parse_count("--repeat", options.repeat, 0, 1'000'000));
  return request;
}

std::string command_text(const BenchOptions& options) {
  std::string text = "weft bench " + options.op;
  for (const std::string& source : options.sources) text += " " + source;
  const auto add = [&](std::string_view option, const std::string& value, std::string_view standard) {
    if (value != standard) text += fmt::format(" {} {}", option, value);
  };
  add("--width", options.width, "");
  add("--dtype", options.dtype, "f32");
  add("--heads", options.heads, "1");
  add("--reduce", options.reduce, "sum");
  add("--op", options.variant, "");
  if (options.unweighted) text += " --unweighted";
  if (options.edge_vectors) text += " --edge-vectors";
  add("--linear", options.linear, "");
  if (options.backward) text += " --backward";
  add("--device", options.device, "");
  add("--threads", options.threads, "0");
  if (options.peers) text += " --peers";
  for (const std::string& policy : options.policies) add("--policy", policy, "");
  add("--repeat", options.repeat, "0");
  add("--runs", options.runs, "1");
  add("--subgraphs", options.subgraphs, "0");
  add("--seed", options.seed, "1");
  add("--sample", options.sample, "");
  add("--sample-width", options.sample_width, "");
  return text;
}

}  // namespace weft::tool
