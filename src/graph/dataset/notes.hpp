// What a reader has to say about a dataset, sentence by sentence.
#pragma once

#include <string>
#include <string_view>

namespace weft::io {

/// Puts a sentence behind those that are there; an empty one changes nothing.
inline void add_note(std::string& note, std::string_view sentence) {
  if (sentence.empty()) return;
  if (!note.empty()) note += "; ";
  note += sentence;
}

}  // namespace weft::io
