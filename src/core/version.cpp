#include "weft/version.hpp"

#define WEFT_STRING_(x) #x
#define WEFT_STRING(x) WEFT_STRING_(x)

namespace weft {

std::string_view version() {
  return WEFT_STRING(WEFT_VERSION_MAJOR) "." WEFT_STRING(WEFT_VERSION_MINOR) "." WEFT_STRING(WEFT_VERSION_PATCH);
}

std::string_view build_commit() { return WEFT_COMMIT; }

}  // namespace weft
