#include "options.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/check.hpp"
#include "core/names.hpp"
#include "generators.hpp"
#include "graph/io/atomic_writer.hpp"
#include "kernels/cpu/target.hpp"
#include "machine.hpp"
#include "option_text.hpp"
#include "progress.hpp"
#include "weft/generate.hpp"

namespace weft::tool {
namespace {

constexpr std::int64_t max_features = 1 << 20;  // times 2^31 nodes still counts in 64 bits

// The writer says why, its caller which file.
template <class F>
void naming(const std::string& path, const F& write) {
  try {
    write();
  } catch (const Error& error) {
    fail(error.code(), "cannot write '{}': {}", path, error.what());
  }
}

}  // namespace

void add_operator(CLI::App& app, std::string& text) {
  const auto check = [](const std::string& given) -> std::string {
    try {
      parse_op_kind(given);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  app.add_option("OP", text, "The operator")->type_name(one_of<OpKind>())->required()->check(check);
}

void add_runs(CLI::App& app, std::string& runs) {
  app.add_option("--runs", runs, "Runs to plan for: windows for tensor cores are made where so many pay for them")
      ->type_name("N")
      ->capture_default_str();
}

void add_device(CLI::App& app, std::string& device, std::string& threads, const std::string& group) {
  app.add_option("--device", device, "Where to run (default: the first GPU, else the CPU)")
      ->type_name("cpu|cuda|cuda:N")
      ->group(group);
  app.add_option("--threads", threads, "CPU threads; 0: every core. Without --device this takes the CPU")
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
}

std::vector<std::string> split_list(std::string_view option, std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (parts.back().empty())
      throw UsageError(fmt::format("{}: an entry of the list is empty; write it as A,B,C without spaces", option));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

std::int64_t parse_count(std::string_view option, std::string_view text, std::int64_t low, std::int64_t high) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high)
    throw UsageError(fmt::format("{} is '{}': expected a whole number from {} to {}", option, text, low, high));
  return value;
}

std::vector<std::int64_t> parse_widths(OpKind kind, std::int64_t heads, std::string_view text) {
  const bool scalar = kind == OpKind::spmv || kind == OpKind::softmax;
  if (kind == OpKind::spmv && heads != 1) throw UsageError("--heads: spmv has one; use spmm for more");
  if (text.empty() && scalar) return {1};
  if (text.empty()) throw UsageError("--width is missing: how many features a node has, such as 64");
  std::vector<std::int64_t> widths;
  for (const std::string& part : split_list("--width", text)) {
    const std::int64_t width = parse_count("--width", part, 1, max_features);
    if (scalar && width != 1)
      throw UsageError(fmt::format("--width is {}: {} works on single values{}", width, name(kind),
                                   kind == OpKind::softmax ? "; use --heads for several scores per edge" : ""));
    if (width * heads > max_features)
      throw UsageError(fmt::format("{} heads of width {} are {} features per node: expected at most {}", heads, width,
                                   width * heads, max_features));
    widths.push_back(width);
  }
  return widths;
}

std::vector<Dtype> parse_dtypes(std::string_view text) {
  std::vector<Dtype> dtypes;
  for (const std::string& part : split_list("--dtype", text))
    dtypes.push_back(as_usage("--dtype", [&] { return parse_floating_dtype(part); }));
  return dtypes;
}

namespace {

Dataset open_with(const std::string& source, Validate validate, bool graph_only) {
  ProgressBar bar;
  const ReadOptions options{bar.callback(), validate, graph_only};
  if (source.empty()) return as_usage("", [&] { return open_dataset(source, options); });
  if (is_generator_spec(source) || is_builtin_dataset(source)) {
    bar.announce("generating " + source + " ...");
    return as_usage("", [&] { return open_dataset(source, options); });
  }
  std::error_code ignored;
  if (const std::string meant = spec_suggestion(source); !meant.empty() && !std::filesystem::exists(source, ignored))
    throw UsageError(fmt::format("'{}' is no file: {}", source, meant));
  return open_dataset(source, options);
}

}  // namespace

GraphFile open_source(const std::string& source, Validate validate) { return open_with(source, validate, true); }
Dataset open_data(const std::string& source, Validate validate) { return open_with(source, validate, false); }

void check_output(const std::string& path) {
  const std::string lower = lower_case(path);
  std::string known;
  for (const GraphFormat& format : graph_formats()) {
    if (!format.writable) continue;
    for (const std::string_view ending : format.endings) {
      if (lower.size() > ending.size() && lower.ends_with(ending)) return check_savable(path);
      known += (known.empty() ? "" : ", ") + std::string(ending);
    }
  }
  throw UsageError(fmt::format("output '{}' has no ending weft can write: use one of {}", path, known));
}

Context pick_context(const std::string& device, std::int64_t threads) {
  // Threads are a CPU's.
  if (device.empty()) return threads == 0 ? Context::best() : Context::cpu(static_cast<int>(threads));
  const Device wanted = as_usage("--device", [&] { return parse_device(device); });
  if (wanted.kind == DeviceKind::cpu) return Context::cpu(static_cast<int>(threads));
  std::string why;
  const auto gpus = cuda_devices(&why);
  if (!built_with_cuda()) why = "this build of weft has no CUDA";
  WEFT_CHECK(!gpus.empty(), unsupported, "--device is '{}', but {}: use --device cpu, or leave --device out", device,
             why);
  WEFT_CHECK(static_cast<std::size_t>(wanted.index) < gpus.size(), invalid_argument,
             "--device is '{}', but this machine has {} GPU{}: expected {}", device, gpus.size(),
             gpus.size() == 1 ? "" : "s",
             gpus.size() == 1 ? "cuda:0" : fmt::format("cuda:0 to cuda:{}", gpus.size() - 1));
  return Context::on(wanted);
}

std::string device_line(const Context& context) {
  const auto gpus = cuda_devices();
  if (context.device().kind != DeviceKind::cpu) {
    const CudaDevice& gpu = gpus.at(static_cast<std::size_t>(context.device().index));
    return fmt::format("device: {} ({}, sm_{})", to_string(context.device()), gpu.name, gpu.compute_capability);
  }
  return fmt::format("device: cpu ({} thread{}, {}){}", context.threads(), context.threads() == 1 ? "" : "s",
                     cpu::cpu_target(), gpu_note(built_with_cuda(), gpus, has_gpu_driver()));
}

std::string gpu_note(bool built, const std::vector<CudaDevice>& gpus, bool driver) {
  if (!built && driver) return "; a GPU is present, but this build has no CUDA";
  if (gpus.empty()) return driver ? "; no usable GPU (weft doctor says why)" : "; no GPU";
  return fmt::format("; a GPU is present ({}): --device cuda uses it", gpus.front().name);
}

std::string json_text(const nlohmann::json& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

void check_savable(const std::string& path) {
  naming(path, [&] { io::AtomicWriter file(path); });
}

void save_text(const std::string& path, std::string_view text) {
  naming(path, [&] {
    io::AtomicWriter file(path);
    file.write(text);
    file.commit();
  });
}

std::vector<std::int64_t> parse_sample_widths(std::string_view method, std::string_view widths) {
  if (method.empty() && widths.empty()) return {};
  if (widths.empty())
    throw UsageError("--sample says which edges are kept: give --sample-width as well, how many of a row's at most");
  std::vector<std::int64_t> given;
  for (const std::string& each : split_list("--sample-width", widths))
    given.push_back(parse_count("--sample-width", each, 1, std::int64_t{1} << 30));
  return given;
}

}  // namespace weft::tool
