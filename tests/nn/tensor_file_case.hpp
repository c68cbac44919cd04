// A file of tensors to write, change and read, and the bytes such files are made of.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "graph/io/files.hpp"
#include "nn/safetensors.hpp"
#include "support/compare.hpp"

namespace weft::test {

using nn::NamedTensor;
using nn::read_tensors;
using nn::TensorFile;
using nn::write_tensors;

/// Any bits, NaNs among them.
inline Tensor any_bits(Shape shape, Dtype dtype, unsigned seed) {
  Tensor tensor = Tensor::empty(shape, dtype);
  std::mt19937 random(seed);
  auto* bytes = static_cast<unsigned char*>(tensor.view().mutable_data());
  for (std::size_t i = 0; i < tensor.bytes(); ++i) bytes[i] = static_cast<unsigned char>(random());
  return tensor;
}

/// A file as another tool would write it: this header, whatever it says, and this data.
inline std::string file_bytes(std::string_view header, std::string_view data = {}) {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes.append(header).append(data);
}

inline std::string header_of(std::string_view bytes) {
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  return std::string(bytes.substr(sizeof length, length));
}

inline bool same(const TensorFile& a, const TensorFile& b) {
  const auto equal = [](const NamedTensor& x, const NamedTensor& y) {
    return x.name == y.name && bitwise_equal(x.value.view(), y.value.view());
  };
  return a.metadata == b.metadata && std::ranges::equal(a.tensors, b.tensors, equal);
}

/// Bit by bit, as the standard has it.
inline std::uint32_t plain_crc32(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
  }
  return ~crc;
}

class tensor_files : public ::testing::Test {
 protected:
  static TensorFile small() {
    TensorFile file{{{"weft.model", "gcn"}, {"made by", "a test"}}, {}};
    file.tensors.push_back({"layers.0.weight", any_bits(Shape(2, 3), Dtype::f32, 1)});
    file.tensors.push_back({"steps", any_bits(Shape(1), Dtype::i64, 2)});
    return file;
  }
  TensorFile round_trip(const TensorFile& file) {
    write_tensors(file_, file);
    return read_tensors(file_);
  }
  void expect_bytes_refused(std::string_view bytes, const std::vector<std::string>& parts,
                            const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    put(file_, bytes);
    expect_file_error([&] { read_tensors(file_); }, file_, ErrorCode::invalid_file, parts, file, line);
  }
  void expect_header_refused(std::string_view header, const std::vector<std::string>& parts,
                             const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    expect_bytes_refused(file_bytes(header, "12345678"), parts, file, line);
  }
  /// Of a tensor 'w' with these fields, over 8 bytes of data.
  void expect_tensor_refused(const std::string& fields, const std::vector<std::string>& parts,
                             const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    expect_header_refused("{\"w\":{" + fields + "}}", parts, file, line);
  }
  /// Writing is refused, and what stood there stays.
  void expect_unwritable(const TensorFile& wrong, const std::vector<std::string>& parts,
                         const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    write_tensors(file_, small());
    expect_file_error([&] { write_tensors(file_, wrong); }, file_, ErrorCode::invalid_argument, parts, file, line);
    EXPECT_TRUE(same(read_tensors(file_), small()));
    EXPECT_EQ(folder_.names().size(), 1u);
  }

  TempFolder folder_;
  std::string file_ = folder_ / "model.safetensors";
};

}  // namespace weft::test
