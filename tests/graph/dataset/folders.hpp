// What tests of datasets in folders share: refusals that name the folder and its file, and the lists of a dataset.
#pragma once

#include <algorithm>
#include <cmath>

#include "graph/io/files.hpp"
#include "weft/dataset.hpp"

namespace weft::test {

template <class T>
std::vector<T> values_of(const Tensor& tensor) {
  return list(tensor.span<T>());
}

inline void expect_unreadable_dataset(const std::string& path, const std::vector<std::string>& parts,
                                      ErrorCode code = ErrorCode::invalid_file, const char* file = __builtin_FILE(),
                                      int line = __builtin_LINE()) {
  expect_file_error([&] { read_dataset(path); }, path, code, parts, file, line);
}

template <class T>
std::string in_the_other_order(std::vector<T> values) {
  std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(T))
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                 bytes.begin() + static_cast<std::ptrdiff_t>(i + sizeof(T)));
  return bytes;
}

}  // namespace weft::test
