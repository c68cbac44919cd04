// One file a subcommand: each adds its options to the root and says what runs when it was asked for.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

// CLI/CLI.hpp takes seconds of each file that includes it: who adds options has adding.hpp.
namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace weft::tool {

/// The command line itself is wrong: exit status 2 and a hint to --help.
class UsageError : public std::runtime_error {
 public:
  explicit UsageError(const std::string& message) : std::runtime_error(message) {}
};

struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;  // the exit status
};

Command add_doctor(CLI::App& root);
Command add_info(CLI::App& root);
Command add_convert(CLI::App& root);
Command add_generate(CLI::App& root);
Command add_reorder(CLI::App& root);
Command add_explain(CLI::App& root);
Command add_bench(CLI::App& root);
Command add_tune(CLI::App& root);
Command add_train(CLI::App& root);
Command add_infer(CLI::App& root);
Command add_completion(CLI::App& root);
Command add_manpage(CLI::App& root);

}  // namespace weft::tool
