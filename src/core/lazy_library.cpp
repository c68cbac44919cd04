#include "core/lazy_library.hpp"

#include <dlfcn.h>

#include "core/check.hpp"

namespace weft {

LazyLibrary::LazyLibrary(std::string_view title, const std::string& file, const std::string& folder)
    : title_(title), file_(file) {
  handle_ = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* const reason = handle_ == nullptr ? ::dlerror() : nullptr;
  const std::string why = reason != nullptr ? reason : "";
  if (handle_ == nullptr && !folder.empty()) handle_ = ::dlopen((folder + "/" + file).c_str(), RTLD_NOW | RTLD_LOCAL);
  WEFT_CHECK(handle_ != nullptr, unsupported,
             "{} could not be loaded ({}): install it, or name the folder of {} in LD_LIBRARY_PATH", title_, why,
             file_);
}

LazyLibrary::Symbol LazyLibrary::find(const char* name) const {
  void* const address = ::dlsym(handle_, name);
  WEFT_CHECK(address != nullptr, unsupported, "{} ({}) has no function {}: expected a newer version", title_, file_,
             name);
  return Symbol(address);
}

}  // namespace weft
