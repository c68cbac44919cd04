// The header of a safetensors file: read with no trust in anything it says, and the names it uses.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/names.hpp"
#include "weft/tensor.hpp"

namespace weft::nn {

inline constexpr std::size_t header_length_bytes = sizeof(std::uint64_t);
inline constexpr std::size_t longest_header = 100'000'000;  // the limit of safetensors itself
inline constexpr std::size_t header_alignment = 8;
inline constexpr std::string_view metadata_key = "__metadata__";
inline constexpr NameTable<Dtype, 6> tensor_dtype_names{{{Dtype::f32, "F32"},
                                                         {Dtype::f16, "F16"},
                                                         {Dtype::bf16, "BF16"},
                                                         {Dtype::f64, "F64"},
                                                         {Dtype::i32, "I32"},
                                                         {Dtype::i64, "I64"}}};

/// What the header says of a tensor: the bytes are as many as its shape takes.
struct TensorEntry {
  std::string name;
  Dtype dtype;
  Shape shape;
  std::int64_t begin, end;  // in the data
};

struct TensorHeader {
  std::map<std::string, std::string> metadata;
  std::vector<TensorEntry> entries;  // in the order of the data, which they cover once, without gaps
};

/// All that stands before the data: the header's length and the header.
std::string_view head_of(std::string_view file);
/// `head` as head_of gives it, in front of so many bytes of data. An Error (invalid_file) for all that breaks the
/// layout or that no Tensor can hold.
TensorHeader read_header(std::string_view head, std::int64_t data_bytes);

}  // namespace weft::nn
