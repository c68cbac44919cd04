#include "nn/class_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <vector>

#include "core/check.hpp"
#include "core/in_quotes.hpp"
#include "graph/dataset/tensor_of.hpp"
#include "graph/io/note.hpp"

namespace weft::nn {
namespace {

void check_lengths(const NodeNames& names, ErrorCode code) {
  for (std::int64_t i = 0; i < names.count(); ++i)
    if (const std::string_view name = names.at(i); name.size() > longest_class_name)
      fail(code, "the name of class {} is {}, {} bytes: expected at most {}; shorten it", i, weft::in_quotes(name),
           name.size(), longest_class_name);
  if (names.text.size() > longest_class_names)
    fail(code, "the names of all {} classes take {} bytes: expected at most {}", names.count(), names.text.size(),
         longest_class_names);
}

void append_escaped(std::string& text, std::string_view name) {
  const bool utf8 = io::is_utf8(name);
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || c == '\\' || (byte >= 0x80 && !utf8))
      fmt::format_to(std::back_inserter(text), "\\x{:02x}", byte);
    else
      text += c;
  }
}

/// Takes the first character, or what it stands for, from the text. `whole` is for the message.
char next_byte(std::string_view& text, std::string_view whole) {
  const char c = text.front();
  constexpr std::size_t escape = 4;  // \xNN
  if (c != '\\') {
    WEFT_CHECK(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, invalid_file,
               "the class name {} holds a control character: expected it as \\xNN", weft::in_quotes(whole));
    text.remove_prefix(1);
    return c;
  }
  unsigned value = 0;
  const bool right = text.size() >= escape && text[1] == 'x' &&
                     std::from_chars(text.data() + 2, text.data() + escape, value, 16).ptr == text.data() + escape;
  WEFT_CHECK(right, invalid_file, "the class name {} holds a backslash: expected \\xNN of a byte",
             weft::in_quotes(whole));
  text.remove_prefix(escape);
  return static_cast<char>(value);
}

}  // namespace

void check_class_names(const NodeNames& names, std::int64_t classes) {
  if (!names) return;
  WEFT_CHECK(names.offsets.dtype() == Dtype::i64 && names.offsets.shape().rank == 1 && names.count() == classes,
             invalid_argument, "class_names has the offsets {} {}: expected i64 [{}], one name for each of {} classes",
             name(names.offsets.dtype()), to_string(names.offsets.shape()), classes + 1, classes);
  const auto offsets = names.offsets.span<std::int64_t>();
  WEFT_CHECK(offsets.front() == 0 && offsets.back() == static_cast<std::int64_t>(names.text.size()) &&
                 std::ranges::is_sorted(offsets),
             invalid_argument, "the offsets of class_names run from {} to {}: expected 0 to {}, ascending",
             offsets.front(), offsets.back(), names.text.size());
  check_lengths(names, ErrorCode::invalid_argument);
}

NodeNames copy_of(const NodeNames& names) { return names ? NodeNames{names.offsets.clone(), names.text} : NodeNames(); }

bool are_whole_numbers(const NodeNames& names) {
  for (std::int64_t i = 0; i < names.count(); ++i) {
    const std::string_view name = names.at(i);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
    if (error != std::errc() || end != name.data() + name.size()) return false;
  }
  return true;
}

NodeNames counted_names(std::int64_t classes) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < classes; ++i) names.push_back(fmt::to_string(i));
  return io::names_of(names);
}

bool same_names(const NodeNames& a, const NodeNames& b) {
  return a.count() == b.count() && a.text == b.text &&
         (!a || std::ranges::equal(a.offsets.span<std::int64_t>(), b.offsets.span<std::int64_t>()));
}

std::string class_names_to_text(const NodeNames& names) {
  std::string text;
  for (std::int64_t i = 0; i < names.count(); ++i) {
    if (i > 0) text += '\n';
    append_escaped(text, names.at(i));
  }
  return text;
}

NodeNames class_names_from_text(std::string_view text, std::int64_t classes) {
  const std::int64_t lines = 1 + std::count(text.begin(), text.end(), '\n');
  WEFT_CHECK(lines == classes, invalid_file, "it has the names of {} classes: expected {}, one for each output", lines,
             classes);
  NodeNames names;
  names.offsets = Tensor::zeros(Shape(classes + 1), Dtype::i64, "offsets of class names");
  const auto offsets = names.offsets.span<std::int64_t>();
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    const std::string_view line = text.substr(0, text.find('\n'));
    for (std::string_view rest = line; !rest.empty();) names.text += next_byte(rest, line);
    offsets[i] = static_cast<std::int64_t>(names.text.size());
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  check_lengths(names, ErrorCode::invalid_file);
  return names;
}

}  // namespace weft::nn
