// What every fuzz target does with a reader.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "core/memory.hpp"
#include "core/parallel.hpp"
#include "graph/io/format.hpp"
#include "weft/context.hpp"

namespace weft::test {

/// As read_dataset calls readers: an Error is an answer, and what is read must hold together. `bytes` is what the input
/// has, unpacked; more than twice as many beside a constant (row offsets of as many nodes as any file may declare) are
/// a fault.
template <class Read>
void expect_an_answer(std::size_t bytes, const Read& read) {
  set_default_threads(1);
  constexpr std::size_t constant = std::size_t{96} << 20;
  reset_memory_peak();
  const std::size_t before = memory_stats().live_bytes;
  try {
    const Dataset dataset = read();
    if (dataset.has_more_than_graph()) validate(dataset);
    validate(dataset.graph.view());
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) {
      std::fprintf(stderr, "an internal error: %s\n", error.what());
      std::abort();
    }
  }
  const std::size_t peak = memory_stats().peak_bytes - before;
  if (peak > 2 * bytes + constant) {
    std::fprintf(stderr, "%zu bytes of memory for %zu bytes of input\n", peak, bytes);
    std::abort();
  }
}

/// A copy as a mapped file is: aligned to 64 bytes.
inline io::Source source_of(std::span<const std::byte> bytes, std::string path) {
  auto kept = std::make_shared<Buffer<std::byte>>(bytes.size(), "the input");
  if (!bytes.empty()) std::memcpy(kept->data(), bytes.data(), bytes.size());
  return {std::move(path), {kept->data(), bytes.size()}, kept};
}

}  // namespace weft::test
