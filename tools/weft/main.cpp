// The weft command. Exit status: 0 done, 1 failed, 2 wrong usage; a failure is one line on stderr.
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"
#include "completion.hpp"
#include "help.hpp"
#include "text.hpp"
#include "usage.hpp"
#include "weft/error.hpp"
#include "weft/version.hpp"

namespace {

using weft::tool::Command;

constexpr int failed = 1, wrong_usage = 2;

int complain(const std::string& message, int status) {
  weft::tool::complain(message);
  return status;
}

std::string hint(const CLI::App* command) {
  return command == nullptr ? " (see weft --help)" : " (see weft " + command->get_name() + " --help)";
}

int run(int argc, char** argv) {
  CLI::App root{"weft: sparse kernels for graph neural networks", "weft"};
  root.formatter(std::make_shared<weft::tool::HelpFormatter>());
  root.set_version_flag("--version", fmt::format("weft {} ({})", weft::version(), weft::build_commit()));
  root.require_subcommand(1);
  root.footer(
      "Example:\n"
      "  weft bench spmm like:cora --width 64 --peers\n"
      "Each command explains itself: weft COMMAND --help");
  const std::array commands{
      weft::tool::add_doctor(root),   weft::tool::add_info(root),       weft::tool::add_convert(root),
      weft::tool::add_generate(root), weft::tool::add_reorder(root),    weft::tool::add_explain(root),
      weft::tool::add_bench(root),    weft::tool::add_tune(root),       weft::tool::add_train(root),
      weft::tool::add_infer(root),    weft::tool::add_completion(root), weft::tool::add_manpage(root)};
  std::vector<std::string> words{argv + std::min(argc, 1), argv + argc};
  if (!words.empty() && words.front() == weft::tool::complete_word) {
    words.erase(words.begin());
    std::fputs(weft::tool::completion_lines(weft::tool::complete(root, words)).c_str(), stdout);
    return 0;
  }
  try {
    words = weft::tool::without_help_word(root, std::move(words));
    words = weft::tool::with_dashes(std::move(words));
    std::ranges::reverse(words);  // the order CLI11 takes them in
    root.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return root.exit(error);  // --help, --version
    return complain(weft::tool::usage_text(root, error) + hint(weft::tool::asked_for(root)), wrong_usage);
  }
  if (const std::string wrong = weft::tool::contradiction(root); !wrong.empty())
    return complain(wrong + hint(weft::tool::asked_for(root)), wrong_usage);
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    try {
      return command.run();
    } catch (const weft::tool::UsageError& error) {
      return complain(error.what() + hint(command.app), wrong_usage);
    }
  }
  return complain("no command was given" + hint(nullptr), wrong_usage);
}

}  // namespace

// Only .weft files are mapped; where one is truncated in use, the kernel has no other way to say so.
extern "C" void complain_of_truncation(int) {
  constexpr char line[] = "weft: a mapped .weft file was truncated while it was in use: write it anew and try again\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line, sizeof line - 1);
  ::_exit(failed);
}

int main(int argc, char** argv) {
  std::signal(SIGBUS, complain_of_truncation);
  // A reader that goes away (weft info g | head -1) ends the program quietly, even where the parent
  // process ignores the signal.
  std::signal(SIGPIPE, SIG_DFL);
  // A file that grows beyond the shell's limit (ulimit -f) is a failed write, and one line, as on a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  int status = failed;
  try {
    status = run(argc, argv);
  } catch (const weft::Error& error) {
    status = complain(error.what(), failed);
  } catch (const std::bad_alloc&) {
    status = complain("out of memory: close other programs or use a smaller graph", failed);
  } catch (const std::exception& error) {
    status = complain(error.what(), failed);
  } catch (...) {
    status = complain("an unknown error ended the command", failed);
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return complain(std::string("cannot write to standard output: ") + std::strerror(errno), failed);
  }
  return status;
}
