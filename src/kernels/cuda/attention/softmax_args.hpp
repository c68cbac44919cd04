// What the kernels of an edge softmax read and write: plain views, passed by value.
#pragma once

#include <cstdint>

#include "kernels/cuda/maybe_wide.hpp"
#include "kernels/cuda/schedule/edge_split.hpp"

namespace weft::cuda {

template <class Acc>
struct SoftmaxPart;

/// One value per edge and head, by edge id; the heads of an edge stand side by side.
template <class Storage>
struct EdgeHeads {
  Storage* data = nullptr;
  std::int64_t pitch = 1;
};

template <class Storage>
struct SoftmaxKernelArgs {
  using Acc = AccumulatorOf<Storage>;
  EdgeSplit split;  // without columns: nothing is gathered
  int heads = 1;
  EdgeHeads<const Storage> scores;  // forward: the scores; backward: alpha
  EdgeHeads<const Storage> grad;    // backward only
  EdgeHeads<Storage> out;
  SoftmaxPart<Acc>* rows = nullptr;   // [rows, heads]
  SoftmaxPart<Acc>* slots = nullptr;  // [2 * tasks, heads]: parts of rows that tasks have cut, see edge_split.hpp
};

}  // namespace weft::cuda
