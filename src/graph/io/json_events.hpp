// JSON piece by piece, as it comes: a file of a million nodes must not become a tree of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/progress.hpp"

namespace weft::io {

/// What takes the pieces. Those it does not expect it refuses with an Error, which read_json completes with the place.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual void begin_object() = 0;
  virtual void key(const std::string& name) = 0;
  virtual void end_object() = 0;
  virtual void begin_list() = 0;
  virtual void end_list() = 0;
  virtual void integer(std::int64_t value) = 0;
  /// Anything else, as a message may name it: "a string", "1.5", "null".
  virtual void other(std::string_view found) = 0;
};

/// Errors, of the text and of `events`, start with the byte up to which the text was read, counted from 1.
void read_json(std::string_view text, JsonEvents& events, const Progress& progress);

}  // namespace weft::io
