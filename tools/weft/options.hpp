// What several subcommands share: option values, opening a GRAPH, choosing a device, writing text.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "core/stopwatch.hpp"
#include "weft/context.hpp"
#include "weft/dataset.hpp"
#include "weft/error.hpp"
#include "weft/plan.hpp"
#include "weft/types.hpp"

namespace weft::tool {

/// What the library refuses as an argument is, coming from an option, wrong usage of the command. `option` may be
/// empty where the message names what it is about.
template <class F>
decltype(auto) as_usage(std::string_view option, F&& parse) {
  try {
    return parse();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    throw UsageError((option.empty() ? "" : std::string(option) + ": ") + error.what());
  }
}

/// The argument OP, refused before anything else that may be missing.
void add_operator(CLI::App& app, std::string& text);
/// The option --runs, for Context::expect_runs.
void add_runs(CLI::App& app, std::string& runs);
inline constexpr std::int64_t most_expected_runs = 1'000'000'000;
/// The options --device and --threads, for pick_context.
void add_device(CLI::App& app, std::string& device, std::string& threads, const std::string& group = "Options");
std::vector<std::string> split_list(std::string_view option, std::string_view text);
/// A whole number in [low, high], all of the text.
std::int64_t parse_count(std::string_view option, std::string_view text, std::int64_t low, std::int64_t high);
/// "16,32,64": feature widths for an operator of so many heads; spmv and softmax, which work on single
/// values, may leave it out.
std::vector<std::int64_t> parse_widths(OpKind kind, std::int64_t heads, std::string_view text);
/// The widths of `--sample-width`, in the order given; none where neither option was. A usage error where `--sample`
/// stands alone.
std::vector<std::int64_t> parse_sample_widths(std::string_view method, std::string_view widths);
/// "f32,bf16": floating storage types only, by their names and the usual other ones.
std::vector<Dtype> parse_dtypes(std::string_view text);

/// A file or a SPEC, with a progress bar; a SPEC that does not parse is wrong usage.
GraphFile open_source(const std::string& source, Validate validate = Validate::full);
/// The same with all that belongs to it.
Dataset open_data(const std::string& source, Validate validate = Validate::full);
/// Before any work: UsageError where no graph writer exists for the name, Error where the file cannot be made.
void check_output(const std::string& path);

/// The device asked for, or the best there is where `device` is empty.
Context pick_context(const std::string& device, std::int64_t threads);
/// "device: cpu (2 threads, NEON); no GPU".
std::string device_line(const Context& context);
/// What device_line adds about GPUs where the CPU was taken; `driver`: the system shows one, whatever weft can use.
std::string gpu_note(bool built, const std::vector<CudaDevice>& gpus, bool driver);

/// Indented; bytes that are no UTF-8, as file names may hold, become replacement characters.
std::string json_text(const nlohmann::json& json);
/// An Error, before any work, where no file can be made there.
void check_savable(const std::string& path);
/// To a temporary file beside `path`, then renamed.
void save_text(const std::string& path, std::string_view text);

}  // namespace weft::tool
