// Steps over the whole graph with at most so many edges per row, after ES-SpMM; with `fresh` others in every step.
#include "nn/sample/edge_blocks.hpp"

namespace weft::nn {
namespace {

class EdgeSampler : public Sampler {
 public:
  EdgeSampler(const SamplerInputs& in, const EdgeSample& sample)
      : sample_(sample), blocks_(in.context, in.graph, in.spec, in.dtype) {
    sample_.seed = in.seed;
  }

  std::int64_t batches() const override { return 1; }
  Batch draw(std::int64_t epoch, std::int64_t) override {
    EdgeSample now = sample_;
    now.step = epoch;
    Batch batch;
    if (redraws()) {
      redrawn_ = blocks_.redrawn(now);
      batch.blocks.push_back(std::move(redrawn_.block));
    } else {
      batch.blocks.push_back(blocks_.block(now));
    }
    return batch;
  }
  bool redraws() const override { return blocks_.redraws(); }
  void redraw(const std::int64_t* epoch) override { blocks_.redraw(redrawn_, epoch); }

 private:
  EdgeSample sample_;
  EdgeBlocks blocks_;
  EdgeBlocks::Redrawn redrawn_;
};

}  // namespace

std::unique_ptr<Sampler> make_edge_sampler(const SamplerInputs& inputs, const EdgeSample& sample) {
  return std::make_unique<EdgeSampler>(inputs, sample);
}

}  // namespace weft::nn
