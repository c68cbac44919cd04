// An option in words, for --help, the manual page, completion and complaints alike. What values an option takes is said
// by its type name: "sum|mean|max" are all there are, FILE is a path, DATA and GRAPH are paths or names, SPEC is a
// generator's; anything else, such as N, is just shown.
#pragma once

#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "core/names.hpp"

namespace weft::tool {

/// The type name of an option whose values are an enum's names.
template <class Enum>
std::string one_of() {
  return fmt::format("{}", fmt::join(all_names<Enum>(), "|"));
}
/// The same for the storage types that kernels compute with.
std::string one_of_floating_dtypes();

/// "sum", "mean", "max"; none where they cannot be listed.
std::vector<std::string> values_of(const CLI::Option& option);
/// "sum, mean or max".
std::string alternatives(const std::vector<std::string>& values);

bool takes_value(const CLI::Option& option);
bool may_repeat(const CLI::Option& option);
/// "--lr", "-o", "GRAPH": what messages call it.
std::string shown_name(const CLI::Option& option);
/// Dashed names that help and completion show, a flag's opposite included: "-o", "--out"; "--tf32", "--no-tf32".
std::vector<std::string> shown_names(const CLI::Option& option);
/// Further spellings, which are understood but not shown: "--optimizer".
std::vector<std::string> hidden_names(const CLI::Option& option);
/// "--lr X", "-o, --out FILE", "--[no-]tf32", "GRAPH...".
std::string label_of(const CLI::Option& option);
/// The description with the values and the default.
std::string meaning_of(const CLI::Option& option);

/// Groups in the order of --help: "Arguments" first, then as they were added; without hidden options.
struct OptionGroup {
  std::string title;
  std::vector<const CLI::Option*> options;
};
std::vector<OptionGroup> option_groups(const CLI::App& command);
/// Without hidden ones.
std::vector<const CLI::App*> shown_commands(const CLI::App& root);
/// "Also understood: --optimizer for --optimiser, ...", or nothing where no option has another spelling.
std::string other_spellings(const CLI::App& command);
/// "weft convert [OPTIONS] IN OUT".
std::string usage_of(const CLI::App& command);

}  // namespace weft::tool
