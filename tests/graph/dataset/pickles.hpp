// Pickles as a test wants them, right or wrong, written opcode by opcode.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::test::pickles {

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}
template <class T>
std::string raw(T value) {
  return raw(std::vector<T>{value});
}

inline std::string pickle(const std::string& body) { return "\x80\x02" + body + "."; }
inline std::string integer(std::int32_t value) { return "J" + raw(value); }
inline std::string string(const std::string& bytes) {
  return bytes.size() < 256 ? "U" + std::string(1, static_cast<char>(bytes.size())) + bytes
                            : "T" + raw(static_cast<std::int32_t>(bytes.size())) + bytes;
}
inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string tuple(const std::vector<std::string>& items) {
  std::string all = "(";
  for (const std::string& item : items) all += item;
  return all + "t";
}
inline std::string list(const std::vector<std::string>& items) {
  std::string all = "](";
  for (const std::string& item : items) all += item;
  return all + "e";
}

/// What differs between those who write arrays.
struct ArrayLayout {
  std::string type = "i4", order = "<", fortran = "\x89", module = "numpy.core.multiarray";
};

inline std::string dtype(const ArrayLayout& layout) {
  return global("numpy", "dtype") + tuple({string(layout.type), integer(0), integer(1)}) + "R" +
         tuple({integer(3), string(layout.order), "N", "N", "N", integer(-1), integer(-1), integer(0)}) + "b";
}
/// `content` is what puts the bytes on the stack.
inline std::string array_of(const std::vector<std::int32_t>& shape, const std::string& content,
                            const ArrayLayout& layout = {}) {
  std::vector<std::string> sizes;
  for (const std::int32_t size : shape) sizes.push_back(integer(size));
  return global(layout.module, "_reconstruct") + tuple({global("numpy", "ndarray"), tuple({integer(0)}), string("b")}) +
         "R" + tuple({integer(1), tuple(sizes), dtype(layout), layout.fortran, content}) + "b";
}
template <class T>
std::string array(const std::vector<std::int32_t>& shape, const std::vector<T>& values,
                  const ArrayLayout& layout = {}) {
  return array_of(shape, string(raw(values)), layout);
}

/// The arrays of a csr_matrix, each as it is put on the stack.
struct Csr {
  std::string shape, indptr, indices, data;
  std::string start = global("scipy.sparse.csr", "csr_matrix") + ")\x81";

  Csr(std::int32_t rows, std::int32_t cols, const std::vector<std::int32_t>& offsets,
      const std::vector<std::int32_t>& columns, const std::vector<float>& values)
      : shape(tuple({integer(rows), integer(cols)})),
        indptr(array({static_cast<std::int32_t>(offsets.size())}, offsets)),
        indices(array({static_cast<std::int32_t>(columns.size())}, columns)),
        data(array({static_cast<std::int32_t>(values.size())}, values, {"f4"})) {}
  std::string operator()() const {
    return start + "}(" + string("format") + string("csr") + string("_shape") + shape + string("indptr") + indptr +
           string("indices") + indices + string("maxprint") + integer(50) + string("data") + data + "ub";
  }
};

inline std::string neighbours(const std::vector<std::pair<std::int32_t, std::vector<std::int32_t>>>& lists) {
  std::string all = global("collections", "defaultdict") + tuple({global("__builtin__", "list")}) + "R(";
  for (const auto& [key, nodes] : lists) {
    std::vector<std::string> items;
    for (const std::int32_t node : nodes) items.push_back(integer(node));
    all += integer(key) + list(items);
  }
  return all + "u";
}

}  // namespace weft::test::pickles
