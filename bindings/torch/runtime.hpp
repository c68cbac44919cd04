// What weft uses of torch while an operator runs: its threads, its current stream, and its memory.
#pragma once

#include "tensors.hpp"
#include "weft/context.hpp"

namespace weft::pytorch {

/// A context on the tensor's device, with torch's threads or its current stream.
Context context_of(const Tensor& tensor);

/// Waits for the work in torch's current stream of a GPU.
void finish_work(Device device);

/// Scratch memory from torch for one run; the context uses it as its workspace while this lives.
class Workspace {
 public:
  Workspace(Context& context, std::size_t bytes, const Tensor& like);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

 private:
  Context& context_;
  std::optional<Tensor> memory_;
};

}  // namespace weft::pytorch
