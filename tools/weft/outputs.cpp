#include "outputs.hpp"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <utility>

#include "model_facts.hpp"
#include "options.hpp"
#include "text.hpp"

namespace weft::tool {

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
