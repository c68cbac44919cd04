// A shared library that is loaded when it is first needed. cuBLAS and cuSPARSE map hundreds of megabytes and take 0.1 s
// to relocate: a command that multiplies nothing should not pay for them, and one without them should still run.
#pragma once

#include <string>
#include <string_view>

namespace weft {

class LazyLibrary {
 public:
  /// Looks for `file` ("libcublas.so.13") where the loader looks, then in `folder`. An Error (unsupported) where it is
  /// in neither place, which calls the library `title`.
  LazyLibrary(std::string_view title, const std::string& file, const std::string& folder);

  /// A function of the library; converts to the pointer type it is assigned to.
  class Symbol {
   public:
    explicit Symbol(void* address) : address_(address) {}
    template <class Function>
    operator Function*() const {  // NOLINT: implicit by design, so that a table of functions reads as one
      return reinterpret_cast<Function*>(address_);
    }

   private:
    void* address_;
  };
  /// An Error (unsupported) where the library has no such function.
  Symbol find(const char* name) const;

 private:
  std::string title_, file_;
  void* handle_ = nullptr;  // never closed: GPU libraries must not go before the driver does
};

}  // namespace weft
