#include "core/environment.hpp"

#include <cstdlib>

namespace weft {

std::string environment(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr ? value : "";
}

std::string user_folder(const char* xdg_variable, const char* below_home) {
  if (const std::string named = environment(xdg_variable); named.starts_with('/')) return named + "/weft";
  const std::string home = environment("HOME");
  return home.empty() ? "" : home + "/" + below_home + "/weft";
}

}  // namespace weft
