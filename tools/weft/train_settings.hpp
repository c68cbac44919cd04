// The options of weft train that set a field of the model or of training: a table of those with a value and one of
// those without.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "train_options.hpp"

namespace weft::tool {

constexpr const char *of_model = "Model", *of_training = "Training", *of_batches = "Batches", *of_run = "Run",
                     *of_output = "Output";
constexpr std::int64_t most_epochs = 10'000'000;  // each leaves its figures

/// How an option sets its field, how the field is shown, and the option's type name.
struct Field {
  std::function<void(std::string_view option, const std::string& text, TrainRequest& request)> apply;
  std::function<std::string(const TrainRequest& request)> show = {};  // none: the help text says the default
  std::string type = "N";
};

/// An option with a value.
struct Setting {
  const char *names, *group;  // names as CLI11 has them, the one that is shown first
  std::string help;           // without the models that have it, which stand before it
  Field field;
  std::vector<Architecture> only = {};  // those that have it; empty: all
  std::vector<Sampling> samplers = {};  // likewise

  std::string name() const { return std::string(names).substr(0, std::string_view(names).find(',')); }
};

/// An option without a value, `--tf32`, and what takes it back, `--no-tf32`.
struct Switch {
  const char *on, *group;
  std::string help;  // as a Setting has it
  std::function<void(bool on, TrainRequest& request)> apply;
  std::function<std::string(const TrainRequest& request)> show;  // "yes", "no"; nothing where it depends
  std::vector<Architecture> only = {};                           // those that have it; empty: all
  const char* also = nullptr;                                    // a further spelling of `on`

  std::string off() const { return opposite(on); }
  /// As CLI11 has them.
  std::string names() const;

 private:
  static std::string opposite(std::string_view name) { return "--no-" + std::string(name.substr(2)); }
};

const std::vector<Setting>& settings();
const std::vector<Switch>& switches();

/// "gat, gatv2: heads of hidden layers": what --help says of the option.
template <class Option>
std::string help_of(const Option& option) {
  std::string text;
  for (const Architecture each : option.only) text += (text.empty() ? "" : ", ") + std::string(name(each));
  return text.empty() ? option.help : text + ": " + option.help;
}

/// What weft train takes for a model where no option says otherwise.
TrainRequest defaults_of(Architecture architecture);
/// The default of an option where it is that of every model that has it, or nothing.
std::string common_default(const Setting& setting);
std::string common_default(const Switch& each);
/// A table for --help: options whose defaults depend on the model, and a few that everybody looks for.
std::string defaults_table();

}  // namespace weft::tool
