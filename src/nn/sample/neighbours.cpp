// Batches in the way of GraphSAGE (Hamilton, Ying and Leskovec, NIPS 2017): some nodes of the training split, and for
// every layer, from the last to the first, some neighbours of the nodes that it writes, drawn anew.
#include <algorithm>

#include "core/device.hpp"
#include "graph/graph_internals.hpp"
#include "nn/sample/cut.hpp"
#include "nn/sample/weigher.hpp"

namespace weft::nn {
namespace {

class NeighbourSampler : public Sampler {
 public:
  NeighbourSampler(const SamplerInputs& in, const SampleOptions& options)
      : context_(in.context),
        graph_(in.graph.graph),
        options_(options),
        seed_(in.seed),
        weigher_(in.context, graph_, in.graph.weights.values, in.spec, in.dtype),
        keeps_loops_(in.spec.self_loops),
        total_(static_cast<std::int64_t>(in.learned.size())),
        local_(in.context, graph_.num_rows()) {
    learned_ = nodes_there(context_, in.learned);
    const std::int64_t all = (total_ + options_.batch - 1) / options_.batch;
    batches_ = options_.batches > 0 ? std::min(options_.batches, all) : all;
  }

  std::int64_t batches() const override { return batches_; }

  Batch draw(std::int64_t epoch, std::int64_t batch) override {
    const std::int64_t first = batch * options_.batch, count = std::min(options_.batch, total_ - first);
    Batch b;
    b.weight = static_cast<double>(total_) / static_cast<double>(count);
    b.share = static_cast<double>(count) / static_cast<double>(std::min(total_, batches_ * options_.batch));
    b.nodes = shuffled_nodes(context_, learned_, first, count, {seed_, epoch, Purpose::shuffling});
    local_.begin(context_);
    local_.number(context_, b.nodes, 0);
    const Draws draws{seed_, epoch * batches_ + batch, Purpose::batches};
    for (std::size_t hop = 0; hop < options_.fanouts.size(); ++hop)
      b.blocks.push_back(block(b.nodes, options_.fanouts[hop], draws, static_cast<std::uint32_t>(hop)));
    local_.forget(context_, b.nodes);
    std::ranges::reverse(b.blocks);  // the first layer is the one farthest out
    return b;
  }

 private:
  Tensor empty(std::int64_t count, Dtype dtype, const char* what) const {
    return Tensor::empty(Shape(count), dtype, what, context_.device(), context_.stream());
  }

  /// Of a layer that writes `nodes`, to which those it reads beside them are added.
  Block block(Tensor& nodes, std::int64_t fanout, const Draws& draws, std::uint32_t hop) {
    const std::int64_t count = nodes.shape().rows;
    DrawnRows drawn =
        draw_rows(context_, graph_, {nodes, fanout, keeps_loops_, draws, hop, weigher_.adds_up()}, local_, count);
    CutRows& rows = drawn.rows;
    Block result;
    if (weigher_.weighs())
      result.weights = weigher_.by_multiples({nodes.view().as<NodeId>(), count, rows.offsets.view().as<EdgeId>(),
                                              rows.places.view().as<EdgeId>(), rows.cols.shape().rows},
                                             weigher_.adds_up() ? drawn.multiples.view().as<float>() : nullptr);
    nodes = joined(nodes, drawn.more);
    result.graph = GraphInternals::adopt_rows(nodes.shape().rows, std::move(rows.offsets), std::move(rows.cols),
                                              context_.stream());
    return result;
  }
  Tensor joined(const Tensor& a, const Tensor& b) const {
    Tensor both = empty(a.shape().rows + b.shape().rows, Dtype::i32, "nodes of a batch");
    auto* const to = static_cast<std::byte*>(both.view().mutable_data());
    const Device device = context_.device();
    copy_bytes(device, to, device, a.view().data, a.bytes(), context_.stream());
    copy_bytes(device, to + a.bytes(), device, b.view().data, b.bytes(), context_.stream());
    return both;
  }

  Context& context_;
  Graph graph_;
  SampleOptions options_;
  std::uint64_t seed_;
  Weigher weigher_;
  bool keeps_loops_;
  std::int64_t total_;
  LocalIds local_;
  Tensor learned_;
  std::int64_t batches_ = 1;
};

}  // namespace

std::unique_ptr<Sampler> make_neighbour_sampler(const SamplerInputs& inputs, const SampleOptions& options) {
  return std::make_unique<NeighbourSampler>(inputs, options);
}

}  // namespace weft::nn
