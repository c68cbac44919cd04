// What weft takes of torch while an operator runs: its threads, its current stream, and its memory.
#pragma once

#include "tensors.hpp"
#include "weft/context.hpp"

namespace weft::pytorch {

/// Of the tensor's device: torch's threads or its current stream there.
Context context_of(const Tensor& tensor);

/// Waits for the work that stands in torch's current stream of a GPU.
void finish_work(Device device);

/// Scratch memory of torch's for one run, which the context carves from as long as this lives.
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
