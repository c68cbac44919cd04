#include "adding.hpp"

#include <CLI/CLI.hpp>

namespace weft::tool {

AddedOption AddedOption::type_name(const std::string& text) { return AddedOption(option_->type_name(text)); }
AddedOption AddedOption::group(const std::string& title) { return AddedOption(option_->group(title)); }
AddedOption AddedOption::required() { return AddedOption(option_->required()); }
AddedOption AddedOption::capture_default_str() { return AddedOption(option_->capture_default_str()); }
AddedOption AddedOption::allow_extra_args(bool allow) { return AddedOption(option_->allow_extra_args(allow)); }

Adding::Adding(CLI::App& root, const std::string& name, const std::string& description)
    : app_(root.add_subcommand(name, description)) {}

AddedOption Adding::add_option(const std::string& names, std::string& value, const std::string& help) {
  return AddedOption(app_->add_option(names, value, help));
}
AddedOption Adding::add_option(const std::string& names, std::optional<std::string>& value, const std::string& help) {
  return AddedOption(app_->add_option(names, value, help));
}
AddedOption Adding::add_option(const std::string& names, std::vector<std::string>& values, const std::string& help) {
  return AddedOption(app_->add_option(names, values, help));
}
AddedOption Adding::add_flag(const std::string& names, bool& value, const std::string& help) {
  return AddedOption(app_->add_flag(names, value, help));
}
void Adding::footer(const std::string& text) { app_->footer(text); }
void Adding::footer(std::function<std::string()> text) { app_->footer(std::move(text)); }

}  // namespace weft::tool
