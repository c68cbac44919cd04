// Options of a command, for files that add some: the same words as CLI11's, without its header, which takes seconds of
// each file that includes it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"

namespace weft::tool {

class AddedOption {
 public:
  explicit AddedOption(CLI::Option* option) : option_(option) {}
  AddedOption* operator->() { return this; }

  AddedOption type_name(const std::string& text);
  AddedOption group(const std::string& title);
  AddedOption required();
  AddedOption capture_default_str();
  AddedOption allow_extra_args(bool allow);

 private:
  CLI::Option* option_;
};

class Adding {
 public:
  explicit Adding(CLI::App& app) : app_(&app) {}
  /// To a command of its own.
  Adding(CLI::App& root, const std::string& name, const std::string& description);
  Adding* operator->() { return this; }
  CLI::App& operator*() const { return *app_; }
  operator CLI::App*() const { return app_; }  // NOLINT: a Command has it

  AddedOption add_option(const std::string& names, std::string& value, const std::string& help);
  AddedOption add_option(const std::string& names, std::optional<std::string>& value, const std::string& help);
  AddedOption add_option(const std::string& names, std::vector<std::string>& values, const std::string& help);
  AddedOption add_flag(const std::string& names, bool& value, const std::string& help);
  void footer(const std::string& text);
  void footer(std::function<std::string()> text);

 private:
  CLI::App* app_;
};

}  // namespace weft::tool
