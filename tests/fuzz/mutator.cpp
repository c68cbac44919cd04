// How libFuzzer changes an input of any target: as it would by itself, but then checksums are mended.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>

#include "mend.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

/// Changes a few bytes and keeps their number, so that whatever follows stays where offsets in the input say it is.
void change_in_place(std::uint8_t* data, std::size_t size, std::minstd_rand& random) {
  constexpr std::size_t most = 64;
  const std::size_t begin = random() % size;
  const std::size_t count = 1 + random() % std::min(most, size - begin);
  LLVMFuzzerMutate(data + begin, count, count);
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  std::minstd_rand random(seed);
  if (size > 0 && random() % 2 == 0)
    change_in_place(data, size, random);
  else
    size = LLVMFuzzerMutate(data, size, max_size);
  const bool left_wrong = random() % 8 == 0;  // refusing a wrong checksum is fuzzed as well
  if (!left_wrong) weft::test::mend(std::as_writable_bytes(std::span(data, size)));
  return size;
}
