// Predictions as files that other programs read, each written whole or not at all.
#pragma once

#include <string>

#include "weft/nn.hpp"

namespace weft::tool {

/// NumPy's: f32, f64, i32 or i64, on the host.
void save_npy(const std::string& path, const Tensor& tensor);
/// node,class,score,probability: a line for every node, or for every class it has where there may be several. Nodes are
/// called as their file calls them, by number or by name, and classes by `class_names`, or by number where there are
/// none; the probability is the softmax or the sigmoid of the score.
void save_csv(const std::string& path, const Dataset& dataset, const NodeNames& class_names,
              const Predictions& predictions, const Tensor& probabilities);

}  // namespace weft::tool
