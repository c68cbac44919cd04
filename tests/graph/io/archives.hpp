// .npz archives as a test wants them: any members, stored or deflated, right or wrong.
#pragma once

#include <gtest/gtest.h>
#include <zip.h>

#include <map>
#include <string>
#include <vector>

#include "graph/io/files.hpp"
#include "graph/io/npy.hpp"

namespace weft::test {

using Members = std::map<std::string, std::string>;  // key (without .npy) -> bytes

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <class T>
std::string npy(std::string_view descr, const std::vector<T>& values) {
  return io::make_npy_header(descr, {static_cast<std::int64_t>(values.size())}) + raw(values);
}

/// Version 1 with this dict, whatever it says.
inline std::string npy_of_dict(std::string dict, std::string_view data = {}) {
  dict += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(dict.size() & 0xff);
  bytes += static_cast<char>(dict.size() >> 8);
  return bytes.append(dict).append(data);
}

/// A matrix in Fortran's order, its values given row by row.
template <class T>
std::string npy_by_columns(std::string_view descr, std::size_t rows, std::size_t columns,
                           const std::vector<T>& values) {
  std::vector<T> turned;
  for (std::size_t column = 0; column < columns; ++column)
    for (std::size_t row = 0; row < rows; ++row) turned.push_back(values[row * columns + column]);
  return npy_of_dict("{'descr': '" + std::string(descr) + "', 'fortran_order': True, 'shape': (" +
                         std::to_string(rows) + ", " + std::to_string(columns) + "), }",
                     raw(turned));
}

inline void put_npz(const std::string& path, const Members& members, int method = ZIP_CM_STORE) {
  zip_t* archive = ::zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  ASSERT_NE(archive, nullptr);
  for (const auto& [key, bytes] : members) {
    zip_source_t* source = ::zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
    const zip_int64_t index = ::zip_file_add(archive, (key + ".npy").c_str(), source, 0);
    ASSERT_GE(index, 0);
    ASSERT_EQ(::zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), method, 0), 0);
  }
  ASSERT_EQ(::zip_close(archive), 0);
}

/// 3 x 4 with the entries (0,1)=1 (0,3)=2 (2,0)=3 (2,2)=4.
inline Members csr_members() {
  return {{"indptr", npy<std::int32_t>("<i4", {0, 2, 2, 4})},
          {"indices", npy<std::int32_t>("<i4", {1, 3, 0, 2})},
          {"data", npy<double>("<f8", {1, 2, 3, 4})},
          {"shape", npy<std::int64_t>("<i8", {3, 4})},
          {"format", io::make_npy_header("|S3", {}) + "csr"}};
}

}  // namespace weft::test
