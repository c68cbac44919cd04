#include "graph/io/text_chunks.hpp"

#include <algorithm>
#include <atomic>

#include "core/check.hpp"
#include "core/parallel.hpp"
#include "graph/io/text_scan.hpp"

namespace weft::io {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

}  // namespace

TextChunks::TextChunks(std::string_view whole, std::string_view body, std::string_view comments,
                       std::int64_t lines_before)
    : whole_(whole), lines_before_(lines_before) {
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t line_end = body.find('\n', std::min(at + chunk_bytes, body.size()) - 1);
    const std::size_t end = line_end == std::string_view::npos ? body.size() : line_end + 1;
    chunks_.emplace_back().text = body.substr(at, end - at);
    at = end;
  }
  parallel_tasks(default_threads(), static_cast<std::int64_t>(chunks_.size()), [&](std::int64_t i, int) {
    TextChunk& chunk = chunks_[static_cast<std::size_t>(i)];
    TextCursor cursor(chunk.text);
    for (; cursor.to_content(comments); cursor.next_line()) ++chunk.lines;
  });
  for (TextChunk& chunk : chunks_) {
    chunk.first = lines_;
    lines_ += chunk.lines;
  }
}

void TextChunks::each(const Progress& progress, const std::function<void(std::size_t, TextFault&)>& parse) const {
  std::int64_t all = 0;
  for (const TextChunk& chunk : chunks_) all += static_cast<std::int64_t>(chunk.text.size());
  std::vector<TextFault> faults(chunks_.size());
  std::atomic<std::int64_t> done{0};
  parallel_tasks(default_threads(), static_cast<std::int64_t>(chunks_.size()), [&](std::int64_t task, int thread) {
    const auto i = static_cast<std::size_t>(task);
    parse(i, faults[i]);
    const auto size = static_cast<std::int64_t>(chunks_[i].text.size());
    const std::int64_t sum = done.fetch_add(size) + size;
    if (thread == 0 && sum < all && progress) progress("reading", sum, all);
  });
  if (progress) progress("reading", all, all);
  for (const TextFault& fault : faults)
    if (fault.at != nullptr) fail_at_line(whole_, fault.at, fault.message, lines_before_);
}

void fail_at_line(std::string_view whole, const char* at, std::string_view message, std::int64_t lines_before) {
  const auto line = lines_before + 1 + std::count(whole.data(), at, '\n');
  fail(ErrorCode::invalid_file, "line {}: {}", line, message);
}

std::string_view rest_of_line(std::string_view whole, const char* at) {
  const std::string_view rest = whole.substr(static_cast<std::size_t>(at - whole.data()));
  std::string_view line = rest.substr(0, std::min(rest.find('\n'), rest.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace weft::io
