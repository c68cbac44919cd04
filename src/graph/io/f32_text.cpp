#include "graph/io/f32_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "graph/io/delimited.hpp"

namespace weft::io {
namespace {

/// A number too large for a double is one too large for f32 as well.
bool is_too_large(std::string_view field) {
  if (const auto number = real_number(field)) return !fits_float(*number);
  if (field.starts_with('+')) field.remove_prefix(1);
  double ignored = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), ignored);
  return error == std::errc::result_out_of_range && end == field.data() + field.size();
}

/// "0.5" of "0,5"; nothing where a point for the comma makes no number.
std::string with_point(std::string_view field) {
  if (std::ranges::count(field, ',') != 1 || field.ends_with(',')) return {};
  std::string text(field);
  std::ranges::replace(text, ',', '.');
  const auto number = real_number(text);
  return number && std::isfinite(*number) ? text : std::string();
}

/// Without sign and leading zeros.
std::string_view digits_of(std::string_view field) {
  return field.substr(std::min(field.find_first_not_of("+-0"), field.size()));
}

/// Also where it is beyond every integer type.
bool is_whole(std::string_view field) {
  const std::string_view digits = digits_of(field);
  return !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos;
}

}  // namespace

bool fits_float(double number) {
  return !std::isfinite(number) || std::abs(number) <= static_cast<double>(std::numeric_limits<float>::max());
}

bool rounds_whole_number(std::string_view field, double number) {
  if (!(std::abs(number) > most_whole_float)) return false;
  const auto whole = whole_number(field);  // exact, where a double may have rounded it already
  const auto kept = static_cast<float>(number);
  if (!whole) return is_whole(field) && fmt::format("{:.0f}", std::abs(kept)) != digits_of(field);
  return std::abs(kept) >= 0x1p63f || static_cast<std::int64_t>(kept) != *whole;
}

std::string rounded_note(std::int64_t count) {
  if (count == 0) return {};
  return fmt::format("{} whole weight{} above 2^24 {} rounded: f32, which weights are kept in, has 24 bits for digits",
                     count, count == 1 ? "" : "s", count == 1 ? "is" : "are");
}

std::string expected_number(std::string_view field, std::string_view what, std::string_view otherwise) {
  if (const std::string point = with_point(field); !point.empty())
    return fmt::format("{} with a decimal point instead of the comma, as in {}", what, point);
  if (is_too_large(field)) return fmt::format("{} of at most 3.4e38, the largest of f32: scale them all down", what);
  return std::string(otherwise);
}

}  // namespace weft::io
