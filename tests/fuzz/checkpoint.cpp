// Checkpoints: one that is read is used as a training that goes on from it does.
#include "fuzzed.hpp"
#include "nn/checkpoint_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weft;
  const io::Source source = test::source_of(std::as_bytes(std::span(data, size)), "fuzzed");
  test::expect_clean_answer(4 * size, [&] {
    const nn::Checkpoint checkpoint = nn::read_checkpoint(source);
    for (const nn::Published& f : checkpoint.figures)
      if (f.best_epoch > 0 && !(checkpoint.figures.at(static_cast<std::size_t>(f.best_epoch - 1)).train_accuracy <= 1))
        std::abort();
    if (checkpoint.state.best_epoch > checkpoint.state.epoch) std::abort();
  });
  return 0;
}
