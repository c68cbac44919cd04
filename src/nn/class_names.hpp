// What a model's classes are called: checked, and as a file of tensors keeps them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/dataset.hpp"

namespace weft::nn {

inline constexpr std::size_t longest_class_name = 4096;  // bytes
/// Of all together: with every byte escaped they stay below what the header of a safetensors file may take.
inline constexpr std::size_t longest_class_names = std::size_t{16} << 20;

/// An Error (invalid_argument) where they are not one for each of `classes`, or too long to be kept. None are right.
void check_class_names(const NodeNames& names, std::int64_t classes);
NodeNames copy_of(const NodeNames& names);
bool same_names(const NodeNames& a, const NodeNames& b);
/// Whether every name is a whole number as labels have them: "3", "-1".
bool are_whole_numbers(const NodeNames& names);
/// "0", "1", ...: what classes are called that have no names.
NodeNames counted_names(std::int64_t classes);

/// A line for each: UTF-8 in which control characters, backslashes and the bytes of names that are no UTF-8 stand as
/// \xNN.
std::string class_names_to_text(const NodeNames& names);
/// An Error (invalid_file) where it is not written so, or has not one name of a right length for each of `classes`.
NodeNames class_names_from_text(std::string_view text, std::int64_t classes);

}  // namespace weft::nn
