// Arrays of an .npz that projects give different names.
#pragma once

#include <initializer_list>
#include <string>

#include "graph/io/npz_arrays.hpp"
#include "weft/dataset.hpp"

namespace weft::io {

/// The first of the names that is there; empty for none.
inline std::string first_key(const NpzArrays& arrays, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (arrays.has(key)) return key;
  return {};
}
inline std::string features_key(const NpzArrays& arrays) {
  return first_key(arrays, {"attr_matrix", "x", "features", "node_feat", "feat"});
}
inline std::string labels_key(const NpzArrays& arrays) {
  return first_key(arrays, {"labels", "y", "label", "node_label"});
}

}  // namespace weft::io
