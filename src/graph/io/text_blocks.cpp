#include "graph/io/text_blocks.hpp"

#include <algorithm>
#include <cstring>

#include "core/parallel.hpp"

namespace weft::io {

TextBlocks::TextBlocks(const Source& source, std::size_t block_bytes) : block_bytes_(block_bytes) {
  if (!source.file && !is_packed(source.bytes)) {
    plain_ = source.text();
    most_bytes_ = plain_.size();
    return;
  }
  reader_.emplace(source);
  most_bytes_ = reader_->limit();
}

bool TextBlocks::next() {
  if (last_) return false;
  if (!reader_) {
    last_ = true;
    text_ = plain_;
    bytes_read_ = text_.size();
    share_ = 1;
    return !text_.empty();
  }
  lines_before_ += std::count(text_.begin(), text_.end(), '\n');
  text_ = {};
  last_ = true;  // should the next one fail
  // Until the first block is known to be not the last one, no thread is worth starting.
  now_ = begun_ ? ahead_.get() : fill(*reader_, {}, block_bytes_);
  begun_ = true;
  const std::string_view filled(reinterpret_cast<const char*>(now_.memory.data()), now_.size);
  text_ = filled.substr(0, now_.lines);
  last_ = now_.last;
  share_ = now_.share;
  bytes_read_ += text_.size();
  if (!last_) {
    // Where no thread can be had, the work is done when its result is asked for.
    const auto when = default_threads() > 1 ? std::launch::async | std::launch::deferred : std::launch::deferred;
    ahead_ =
        std::async(when, [this, begun = filled.substr(now_.lines)] { return fill(*reader_, begun, block_bytes_); });
  }
  return !text_.empty();
}

void TextBlocks::check_rest() {
  while (next()) {
  }
}

TextBlocks::Ahead TextBlocks::fill(Unpacker& reader, std::string_view begun, std::size_t block_bytes) {
  Ahead block;
  // A small file's block is no larger than it needs to be, a long line's as large as that.
  std::size_t room = std::max(begun.size() + block_bytes, begun.size() * 2);
  if (begun.empty()) room = std::min(block_bytes, std::max<std::size_t>(4 * reader.size(), 1 << 12));
  block.memory = Buffer<std::byte>(room, "a block of text");
  if (!begun.empty()) std::memcpy(block.memory.data(), begun.data(), begun.size());
  block.size = begun.size();
  for (;;) {
    block.size += reader.read({block.memory.data() + block.size, block.memory.size() - block.size});
    block.last = reader.done();
    const std::string_view text(reinterpret_cast<const char*>(block.memory.data()), block.size);
    block.lines = block.last ? block.size : text.find_last_of('\n') + 1;  // of none: 0
    if (block.last || (block.lines > 0 && block.size >= block_bytes)) break;
    Buffer<std::byte> larger(2 * block.memory.size(), "a block of text");
    std::memcpy(larger.data(), block.memory.data(), block.size);
    block.memory = std::move(larger);
  }
  if (!block.last) block.share = static_cast<double>(reader.taken()) / static_cast<double>(reader.size());
  return block;
}

Progress within_file(const TextBlocks& blocks, const Progress& progress) {
  if (!progress || (blocks.last() && blocks.lines_before() == 0)) return progress;
  return [&progress, share = blocks.share()](std::string_view what, std::int64_t done, std::int64_t total) {
    constexpr std::int64_t steps = 1 << 20;
    if (done == total) progress(what, static_cast<std::int64_t>(share * steps), steps);
  };
}

std::string text_head(const Source& source, std::size_t bytes) {
  if (!source.file && !is_packed(source.bytes)) return std::string(source.text().substr(0, bytes));
  std::string head(bytes, '\0');
  head.resize(Unpacker(source).read(std::as_writable_bytes(std::span(head))));
  return head;
}

}  // namespace weft::io
