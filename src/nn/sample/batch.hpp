// Batches: parts of a graph that training takes steps on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "nn/edge_weights.hpp"
#include "weft/context.hpp"
#include "weft/graph.hpp"
#include "weft/nn.hpp"
#include "weft/tensor.hpp"

namespace weft::nn {

/// What a layer sees of a graph.
struct Block {
  Graph graph;
  Tensor weights;                     // as Build has them, or none
  std::optional<Graph> sampled_from;  // likewise
};

struct Batch {
  /// i32: those the first layer reads, by their ids in the whole graph; those the last writes come first. None: all.
  Tensor nodes;
  std::vector<Block> blocks;  // by layer, or one for all
  Tensor loss_weights;        // f32, of every node the last layer writes; none: 1
  double weight = 1;          // of the sum of the losses, beside that of the training split
  double share = 1;           // of the batch's loss in its epoch's
};

class Sampler {
 public:
  virtual ~Sampler() = default;
  /// An epoch's.
  virtual std::int64_t batches() const = 0;
  /// The same for the same numbers, whatever was drawn before.
  virtual Batch draw(std::int64_t epoch, std::int64_t batch) = 0;

  /// Whether an epoch is one batch that redraw() writes anew where draw() has put it, so that what runs over it is
  /// planned and recorded once. The network over it is built before it is drawn for an epoch: draw(0, 0) comes first,
  /// so that plans do not depend on the epoch that training begins with.
  virtual bool redraws() const { return false; }
  /// Of the epoch whose number stands at `epoch`, where training runs. Asks for no memory and does not wait.
  virtual void redraw(const std::int64_t* epoch) { static_cast<void>(epoch); }
};

struct SamplerInputs {
  Context& context;
  const ModelGraph& graph;  // must outlive the sampler
  const ModelSpec& spec;
  Dtype dtype = Dtype::f32;
  std::uint64_t seed = 0;
  std::vector<NodeId> learned;  // nodes of the training split with a label
};
/// An Error where the options make no batches.
std::unique_ptr<Sampler> make_sampler(const SamplerInputs& inputs, const SampleOptions& options);
std::unique_ptr<Sampler> make_subgraph_sampler(const SamplerInputs& inputs, const SampleOptions& options);
std::unique_ptr<Sampler> make_neighbour_sampler(const SamplerInputs& inputs, const SampleOptions& options);
std::unique_ptr<Sampler> make_edge_sampler(const SamplerInputs& inputs, const EdgeSample& sample);

/// Options with what they leave to the model filled in.
SampleOptions completed(SampleOptions options, const ModelSpec& spec);
/// An Error that names the option which makes no sense.
void check_sampling(const SampleOptions& options, const ModelSpec& spec);

}  // namespace weft::nn
