#include "outputs.hpp"

#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <new>
#include <utility>

#include "model_facts.hpp"
#include "options.hpp"
#include "text.hpp"

namespace weft::tool {
namespace {

/// The one spelling of a file's path, behind links, whether the file is there or not; nothing for what is no file.
std::string one_spelling(const std::string& path) {
  if (path.empty() || path == "-") return {};
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  if (type != std::filesystem::file_type::regular && type != std::filesystem::file_type::not_found) return {};
  const auto whole = std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  return error ? path : whole.string();
}

}  // namespace

void check_distinct(const std::vector<NamedPath>& outputs, const std::vector<NamedPath>& inputs) {
  std::vector<std::pair<std::string_view, std::string>> seen;
  for (const NamedPath& input : inputs) {
    std::error_code ignored;
    if (!input.path->empty() && std::filesystem::exists(*input.path, ignored))
      seen.emplace_back(input.option, one_spelling(*input.path));
  }
  const std::size_t read = seen.size();
  for (const NamedPath& output : outputs) {
    const std::string file = one_spelling(*output.path);
    if (file.empty()) continue;
    for (std::size_t i = 0; i < seen.size(); ++i)
      if (seen[i].second == file)
        throw UsageError(
            fmt::format("{} is '{}', the same file as {}: {}", output.option, *output.path, seen[i].first,
                        i < read ? "it would overwrite what the command reads; name another file" : "name two files"));
    seen.emplace_back(output.option, file);
  }
}

void check_one_on_stdout(const std::string& json, const std::string& report) {
  if (json == "-" && report == "-") throw UsageError("--json and --report are both '-': name a file for one of them");
}

void Outputs::add(std::string_view option, const std::string& path,
                  std::function<void(const std::string& path)> write) {
  if (!path.empty()) outputs_.push_back({std::string(option), path, std::move(write)});
}

void Outputs::add_text(std::string_view option, const std::string& path, std::function<std::string()> text) {
  add(option, path, [text = std::move(text)](const std::string& to) {
    const std::string all = text();
    if (to == "-")
      std::fwrite(all.data(), 1, all.size(), stdout);  // failures show when stdout is flushed at the end
    else
      save_text(to, all);
  });
}

void Outputs::report_failure(std::string_view option, std::string_view message) {
  failed_ = true;
  std::fflush(out_);  // lines stay in their order where both streams go to one place
  complain(fmt::format("{}: {}", option, message));
}

int Outputs::write_all(int status) {
  for (const Output& output : std::exchange(outputs_, {})) {
    try {
      output.write(output.path);
      if (output.path != "-") print_line(out_, wrote_line(output.path));
    } catch (const std::bad_alloc&) {
      report_failure(output.option, fmt::format("cannot write '{}': out of memory", output.path));
    } catch (const std::exception& error) {
      report_failure(output.option, error.what());
    }
  }
  return failed_ ? 1 : status;
}

}  // namespace weft::tool
