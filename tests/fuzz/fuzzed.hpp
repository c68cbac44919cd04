// What every fuzz target does with a reader.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "core/memory.hpp"
#include "core/parallel.hpp"
#include "graph/io/format.hpp"
#include "weft/context.hpp"

namespace weft::test {

/// f() either returns or throws an Error that is no internal one, which `look` is shown. `bytes` is what the input has,
/// unpacked; more than twice as many beside a constant (row offsets of as many nodes as any file may declare) are a
/// fault.
template <class F, class Look>
void expect_return_or_error(std::size_t bytes, const F& f, const Look& look) {
  set_default_threads(1);
  constexpr std::size_t constant = std::size_t{96} << 20;
  reset_memory_peak();
  const std::size_t before = memory_stats().live_bytes;
  try {
    f();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) {
      std::fprintf(stderr, "an internal error: %s\n", error.what());
      std::abort();
    }
    look(error);
  }
  const std::size_t peak = memory_stats().peak_bytes - before;
  if (peak > 2 * bytes + constant) {
    std::fprintf(stderr, "%zu bytes of memory for %zu bytes of input\n", peak, bytes);
    std::abort();
  }
}

/// As read_dataset calls readers: an Error is an answer, and what is read must hold together.
template <class Read>
void expect_an_answer(std::size_t bytes, const Read& read) {
  const auto read_and_check = [&] {
    const Dataset dataset = read();
    if (dataset.has_more_than_graph()) validate(dataset);
    validate(dataset.graph.view());
  };
  expect_return_or_error(bytes, read_and_check, [](const Error&) {});
}

/// The message of an Error, if there is one, is a short line without anything that a terminal would obey.
template <class F>
void expect_clean_answer(std::size_t bytes, const F& f) {
  expect_return_or_error(bytes, f, [](const Error& error) {
    const std::string_view text = error.what();
    const auto printable = [](char c) { return c >= 0x20 && c < 0x7f; };
    if (std::ranges::all_of(text, printable) && text.size() < 2000) return;
    std::fprintf(stderr, "a message of %zu bytes that is too long or not printable\n", text.size());
    std::abort();
  });
}

/// A copy as a mapped file is: aligned to 64 bytes.
inline io::Source source_of(std::span<const std::byte> bytes, std::string path) {
  auto kept = std::make_shared<Buffer<std::byte>>(bytes.size(), "the input");
  if (!bytes.empty()) std::memcpy(kept->data(), bytes.data(), bytes.size());
  return {std::move(path), {kept->data(), bytes.size()}, kept};
}

}  // namespace weft::test
