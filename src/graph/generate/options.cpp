#include "graph/generate/options.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/names.hpp"

namespace weft::generator {
namespace {

template <class T>
bool parse_all(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

// A whole number: digits, or 1e6 and 2.5e6 where that is whole and exact.
template <class T>
void assign_integer(std::string_view kind, std::string_view key, std::string_view text, T& value) {
  if (parse_all(text, value)) return;
  double real = 0;
  const bool scientific = text.find_first_of("eE") != text.npos && parse_all(text, real);
  constexpr double exact = 0x1p53;
  const double least = std::is_unsigned_v<T> ? 0 : -std::min(exact, static_cast<double>(std::numeric_limits<T>::max()));
  const double most = std::min(exact, static_cast<double>(std::numeric_limits<T>::max()));
  WEFT_CHECK(scientific && real >= least && real <= most && real == std::floor(real), invalid_argument,
             "{}: {}='{}' is not valid: expected a whole number such as 1000000 or 1e6{}", kind, key, text,
             std::is_unsigned_v<T> ? ", not negative" : "");
  value = static_cast<T>(real);
}

struct Assign {
  std::string_view kind, key, text;

  void operator()(int* value) const { assign_integer(kind, key, text, *value); }
  void operator()(std::int64_t* value) const { assign_integer(kind, key, text, *value); }
  void operator()(std::uint64_t* value) const { assign_integer(kind, key, text, *value); }
  void operator()(double* value) const {
    WEFT_CHECK(parse_all(text, *value) && std::isfinite(*value), invalid_argument,
               "{}: {}='{}' is not valid: expected a number such as 2.5", kind, key, text);
  }
  void operator()(bool* value) const {
    WEFT_CHECK(text == "0" || text == "1", invalid_argument, "{}: {}='{}' is not valid: expected 0 or 1", kind, key,
               text);
    *value = text == "1";
  }
};

std::vector<std::string_view> keys_of(const Fields& known) {
  std::vector<std::string_view> keys;
  for (const Field& f : known) keys.push_back(f.key);
  return keys;
}

}  // namespace

void parse_options(std::string_view kind, std::string_view text, const Fields& known) {
  std::vector<std::string_view> seen;
  for (bool more = !text.empty(); more;) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    more = comma != text.npos;
    text.remove_prefix(more ? comma + 1 : text.size());
    const std::size_t equals = item.find('=');
    WEFT_CHECK(equals != item.npos, invalid_argument, "{}: '{}' is not valid: expected key=value with key one of {}",
               kind, item, fmt::join(keys_of(known), ", "));
    const std::string_view key = item.substr(0, equals), value = item.substr(equals + 1);
    const Field* field = nullptr;
    for (const Field& f : known)
      if (f.key == key) field = &f;
    if (field == nullptr) fail_unknown(fmt::format("{}: key", kind), key, keys_of(known));
    for (const std::string_view earlier : seen)
      WEFT_CHECK(earlier != key, invalid_argument, "{}: {} is given twice: expected each key once", kind, key);
    seen.push_back(key);
    std::visit(Assign{kind, key, value}, field->target);
  }
}

std::string canonical(std::string_view kind, const Fields& known) {
  std::string text(kind);
  char separator = ':';
  for (const Field& f : known) {
    std::visit([&](const auto* value) { text += fmt::format("{}{}={}", separator, f.key, +*value); }, f.target);
    separator = ',';
  }
  return text;
}

}  // namespace weft::generator
