// Batches in the way of GraphSAINT (Zeng and others, ICLR 2020): nodes are drawn, and a batch is all the edges between
// them. How likely nodes and edges are to be drawn is counted beforehand; losses and messages are divided by it.
#include <algorithm>

#include "core/check.hpp"
#include "graph/graph_internals.hpp"
#include "nn/sample/cut.hpp"
#include "nn/sample/weigher.hpp"

namespace weft::nn {
namespace {

constexpr std::int64_t most_samples = 1'000'000;  // that are counted

class SubgraphSampler : public Sampler {
 public:
  SubgraphSampler(const SamplerInputs& in, const SampleOptions& options)
      : context_(in.context),
        graph_(in.graph.graph),
        options_(options),
        seed_(in.seed),
        weigher_(in.context, graph_, in.graph.weights.values, in.spec, in.dtype),
        weighted_(in.graph.weights),
        local_(in.context, graph_.num_rows()) {
    WEFT_CHECK(
        options_.coverage > 0 || !weigher_.divides_by_weights() || !in.graph.weights.any_negative, invalid_argument,
        "sample.coverage is 0 and some edges have negative weights: within a batch the weights of a node's edges, "
        "which degree norm {} divides by, may add up to less than 0; expected a coverage of 1 or more, weights of 0 or "
        "more, or --ignore-weights",
        name(in.spec.degree_norm));
    if (options_.method == Sampling::walk) roots_ = nodes_there(context_, in.learned);
    count();
  }

  std::int64_t batches() const override { return batches_; }

  Batch draw(std::int64_t epoch, std::int64_t batch) override {
    DrawnSubgraph drawn = cut({seed_, epoch * batches_ + batch, Purpose::batches}, true);
    const std::int64_t count = drawn.nodes.shape().rows;
    Batch b;
    Block block;
    const Weigher::Edges edges{drawn.nodes.view().as<NodeId>(), count, drawn.rows.offsets.view().as<EdgeId>(),
                               drawn.rows.places.view().as<EdgeId>(), drawn.rows.cols.shape().rows};
    if (edge_counts_) block.weights = weigher_.by_counts(edges, counts(node_counts_), counts(edge_counts_));
    block.graph =
        GraphInternals::adopt_rows(count, std::move(drawn.rows.offsets), std::move(drawn.rows.cols), context_.stream());
    // The arrays have moved, not their memory.
    if (!edge_counts_ && weighted_) block.weights = weigher_.within(block.graph, edges);
    b.blocks.push_back(std::move(block));
    if (node_counts_) {
      b.loss_weights =
          Tensor::empty(Shape(count), Dtype::f32, "weights of losses", context_.device(), context_.stream());
      run(context_, LossWeightsArgs{drawn.nodes.view().as<NodeId>(), count, counts(node_counts_),
                                    static_cast<double>(samples_), b.loss_weights.view().as<float>()});
    } else {
      b.weight = static_cast<double>(graph_.num_rows()) / static_cast<double>(count);
    }
    b.share = 1 / static_cast<double>(batches_);
    b.nodes = std::move(drawn.nodes);
    return b;
  }

 private:
  DrawnSubgraph cut(const Draws& draws, bool with_rows) {
    const std::int64_t steps = options_.method == Sampling::walk   ? options_.walk_length
                               : options_.method == Sampling::edge ? 1
                                                                   : 0;
    MarkArgs mark{options_.method, graph_.view(), options_.batch, steps, draws};
    if (roots_) {
      mark.roots = roots_.view().as<NodeId>();
      mark.num_roots = roots_.shape().rows;
    }
    return draw_subgraph(context_, graph_, mark, local_, with_rows);
  }

  /// Draws subgraphs until every node was drawn `coverage` times on average.
  void count() {
    const std::int64_t all = graph_.num_rows();
    const auto zeros = [&](std::int64_t count, const char* what) {
      return Tensor::zeros(Shape(count), Dtype::i32, what, context_.device(), context_.stream());
    };
    if (options_.coverage > 0) node_counts_ = zeros(all, "how often nodes were drawn");
    if (options_.coverage > 0 && weigher_.adds_up())
      edge_counts_ = zeros(graph_.num_edges(), "how often edges were drawn");
    std::int64_t nodes = 0;
    do {
      const DrawnSubgraph drawn = cut({seed_, samples_, Purpose::counting}, static_cast<bool>(edge_counts_));
      nodes += drawn.nodes.shape().rows;
      if (samples_++ == 0)
        WEFT_CHECK(options_.coverage * all <= most_samples * nodes, invalid_argument,
                   "sample.coverage is {} and a batch has {} of {} nodes: more than {} would have to be drawn before "
                   "training; expected larger batches or a smaller coverage",
                   options_.coverage, nodes, all, most_samples);
      if (!node_counts_) continue;
      CountArgs args{drawn.nodes.view().as<NodeId>(), drawn.nodes.shape().rows};
      args.node_counts = counts(node_counts_);
      if (edge_counts_) {
        args.places = drawn.rows.places.view().as<EdgeId>();
        args.num_edges = drawn.rows.places.shape().rows;
        args.edge_counts = counts(edge_counts_);
      }
      run(context_, args);
    } while (nodes < options_.coverage * all);
    batches_ =
        options_.batches > 0 ? options_.batches : std::max<std::int64_t>(1, (all * samples_ + nodes / 2) / nodes);
  }

  static std::int32_t* counts(Tensor& tensor) { return tensor.view().as<std::int32_t>(); }

  Context& context_;
  Graph graph_;
  SampleOptions options_;
  std::uint64_t seed_;
  Weigher weigher_;
  bool weighted_;  // edges have weights of their own
  LocalIds local_;
  Tensor roots_;                      // of walks: training nodes, as in the authors' program
  Tensor node_counts_, edge_counts_;  // none: degrees are those of the batch
  std::int64_t samples_ = 0;          // they were counted in
  std::int64_t batches_ = 1;
};

}  // namespace

std::unique_ptr<Sampler> make_subgraph_sampler(const SamplerInputs& inputs, const SampleOptions& options) {
  return std::make_unique<SubgraphSampler>(inputs, options);
}

}  // namespace weft::nn
