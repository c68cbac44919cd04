// weft tune: fits the selector of windows for tensor cores to the GPU at hand.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "adding.hpp"
#include "command.hpp"
#include "core/check.hpp"
#include "machine.hpp"
#include "options.hpp"
#include "outputs.hpp"
#include "progress.hpp"
#include "text.hpp"
#include "tune/fit.hpp"
#include "tune/time_windows.hpp"
#include "weft/version.hpp"

namespace weft::tool {
namespace {

struct Options {
  std::string device, out, dtype = "f16,bf16,f32", width = "32,64,128", json;
  bool quick = false;
};

TuneRequest read(const Options& options) {
  TuneRequest request;
  request.dtypes = parse_dtypes(options.dtype);
  for (const Dtype dtype : request.dtypes)
    if (size_of(dtype) > 4)
      throw UsageError(fmt::format("--dtype is '{}': expected f16, bf16 or f32, which tensor cores sum", name(dtype)));
  request.widths = parse_widths(OpKind::spmm, 1, options.width);
  for (const std::int64_t width : request.widths)
    if (width % 8 != 0 || width > 1024)
      throw UsageError(fmt::format("--width is {}: expected a multiple of 8 up to 1024", width));
  if (options.quick) {
    request.kinds = 30;
    request.repeat = 5;
  }
  return request;
}

/// Why there is nothing to tune; empty: there is a GPU.
std::string why_nothing(const std::string& device) {
  if (!device.empty() && as_usage("--device", [&] { return parse_device(device); }).kind == DeviceKind::cpu)
    return "plans on a CPU have no tensor cores";
  std::string why;
  if (!cuda_devices(&why).empty()) return "";
  return built_with_cuda() ? why : "this build of weft has no CUDA";
}

/// Where the table goes, its folder made where it is the user's own.
std::string table_path(const std::string& given, const std::string& device) {
  if (!given.empty()) return given;
  const TuningFile file = tuning_file(device);
  if (file.path.empty())
    throw UsageError("-o is missing: neither WEFT_TUNING, XDG_CONFIG_HOME nor HOME says where the table is kept");
  if (file.named) return file.path;
  const std::string folder = std::filesystem::path(file.path).parent_path().string();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  WEFT_CHECK(!error, io, "cannot make the folder '{}': {}; name a file with -o", folder, error.message());
  return file.path;
}

void print(std::FILE* out, const std::vector<FittedSelector>& all, std::int64_t width) {
  TextTable table(out, {{"dtype", 5, Align::left},
                        {"window", 6},
                        {"samples", 7},
                        {"tensor wins", 11},
                        {"held out", 8},
                        {"t as t", 6},
                        {"c as t", 6},
                        {"t as c", 6},
                        {"c as c", 6},
                        {"accuracy", 8},
                        {"model", 7},
                        {"all", 7},
                        {"none", 7}});
  table.print_header();
  const auto percent = [](double share) { return fmt::format("{:.1f} %", 100 * share); };
  for (const FittedSelector& fitted : all) {
    const YesNoConfusion& c = fitted.confusion;
    table.print_row({std::string(name(fitted.row.dtype)), fmt::format("{}", fitted.row.window_rows),
                     grouped(fitted.row.samples), grouped(fitted.tensor_faster), grouped(c.total()),
                     grouped(c.right_yes), grouped(c.wrong_yes), grouped(c.wrong_no), grouped(c.right_no),
                     percent(fitted.row.accuracy), percent(fitted.lost_by_model), percent(fitted.lost_by_all),
                     percent(fitted.lost_by_none)});
  }
  print_line(out,
             "t: tensor cores are faster, c: CUDA cores are; \"t as c\": windows of the first taken for the second. "
             "Last columns: time above that of the faster cores, held-out windows");
  print_line(out, "");
  for (const FittedSelector& fitted : all) {
    const SelectorRow& row = fitted.row;
    print_line(
        out, fmt::format("{} {} rows: tensor cores where {} > 0", name(row.dtype), row.window_rows, formula_text(row)));
    print_line(out, fmt::format("  by density at width {}: {}", width, break_even_text(row, width)));
  }
}

int run(const Options& options) {
  const TuneRequest request = read(options);
  check_distinct({{"-o", &options.out}, {"--json", &options.json}}, {});
  if (options.out == "-" && options.json == "-")
    throw UsageError("-o and --json are both '-': name a file for one of them");
  std::FILE* out = options.out == "-" || options.json == "-" ? stderr : stdout;
  if (const std::string why = why_nothing(options.device); !why.empty()) {
    print_line(out, "nothing to tune: " + why);
    return 0;
  }
  Context context = pick_context(options.device.empty() ? "cuda" : options.device, 0);
  const std::string device = cuda_devices().at(static_cast<std::size_t>(context.device().index)).name;
  const std::string path = table_path(options.out, device);
  for (const std::string& file : {path, options.json})
    if (!file.empty() && file != "-") check_savable(file);
  print_line(out, device_line(context));
  const Stopwatch watch;
  std::vector<TimedWindow> timed;
  {
    ProgressBar bar;
    timed = time_windows(context, request,
                         [&](std::int64_t done, std::int64_t total) { bar.update("timing windows", done, total); });
  }
  SelectorTable table{device, std::string(build_commit()), utc_now(), {}};
  std::vector<FittedSelector> all;
  for (const Dtype dtype : request.dtypes)
    for (const int rows : request.window_rows) {
      all.push_back(fit_selector(timed, dtype, rows));
      table.rows.push_back(all.back().row);
    }
  print_line(out, fmt::format("timed    {} windows on both kinds of core in {}", grouped(std::ssize(timed)),
                              seconds_text(watch.seconds())));
  print_line(out, "");
  print(out, all, request.widths[request.widths.size() / 2]);
  Outputs outputs(out);
  outputs.add_text("-o", path, [&] { return to_json(table); });
  outputs.add_text("--json", options.json, [&] {
    nlohmann::json json = {{"device", device},
                           {"commit", table.commit},
                           {"date", table.date},
                           {"quick", options.quick},
                           {"seconds", watch.seconds()},
                           {"table", path},
                           {"selector", nlohmann::json::array()},
                           {"windows", nlohmann::json::array()}};
    for (const FittedSelector& fitted : all) json["selector"].push_back(to_json(fitted));
    for (const TimedWindow& window : timed) json["windows"].push_back(to_json(window));
    return json_text(json) + "\n";
  });
  const int status = outputs.write_all();
  if (status == 0 && path != "-" && path != tuning_file(device).path)
    print_line(out, fmt::format("plans read it where WEFT_TUNING={} is set", path));
  return status;
}

}  // namespace

Command add_tune(CLI::App& root) {
  auto options = std::make_shared<Options>();
  Adding app(root, "tune", "Fit the selector of windows for tensor cores to this GPU");
  app->add_option("--device", options->device, "The GPU to tune for (default: the first)")
      ->type_name("cpu|cuda|cuda:N");
  app->add_option("-o,--out", options->out,
                  "The table to write, - for standard output (default: the file that plans read, $WEFT_TUNING or "
                  "~/.config/weft/tuning-DEVICE.json)")
      ->type_name("FILE");
  app->add_option("--dtype", options->dtype, "Storage types: f16, bf16 and f32, or some of them")
      ->type_name("T,T,..")
      ->capture_default_str();
  app->add_option("--width", options->width, "Features of a node to time with, multiples of 8")
      ->type_name("K,K,..")
      ->capture_default_str();
  app->add_flag("--quick", options->quick, "A quarter of the windows: some seconds instead of 25");
  app->add_option("--json", options->json, "Write the fit and every timed window to this file (- for standard output)")
      ->type_name("FILE");
  app->footer(
      "Example:\n  weft tune --quick\n\n"
      "Times windows of many numbers of columns and densities with tensor cores and\n"
      "without, as HC-SpMM does, fits a logistic model to four fifths of them and tests\n"
      "it with the others. Plans use it with the policy core=tensor,select=model.");
  return {app, [options] { return run(*options); }};
}

}  // namespace weft::tool
