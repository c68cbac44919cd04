// Numbers of text that are kept as f32: which do not fit, which are rounded, and what people hear of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::io {

/// Whether a number that is finite in a file stays so in f32.
bool fits_float(double number);

inline constexpr double most_whole_float = 0x1p24;  // up to it every whole number is a float
/// Whether the field holds a whole number of so many digits that f32 has none like it: 16777217 becomes 16777216.
/// `number` is its value as a double.
bool rounds_whole_number(std::string_view field, double number);
/// "2 whole weights are rounded ..."; nothing for none.
std::string rounded_note(std::int64_t count);

/// What should stand in a field that was refused. Where it nearly is a number: `what`, such as "a weight", and how it
/// has to differ (a decimal point, at most f32's largest). Else `otherwise`.
std::string expected_number(std::string_view field, std::string_view what, std::string_view otherwise);

}  // namespace weft::io
