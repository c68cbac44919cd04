// The text of a file, whole lines at a time; what is packed is unpacked on the way, where there is more than one thread
// a block ahead of whoever reads.
#pragma once

#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <string_view>

#include "core/memory.hpp"
#include "graph/io/source.hpp"
#include "graph/io/unpacker.hpp"
#include "weft/error.hpp"
#include "weft/progress.hpp"

namespace weft::io {

class TextBlocks {
 public:
  static constexpr std::size_t usual_bytes = std::size_t{32} << 20;

  /// Text in memory, which is one block.
  TextBlocks(std::string_view text) : plain_(text) {}  // NOLINT: any text has blocks
  /// A file as it is: blocks of about so many bytes of what it unpacks to, one where the content is in memory already.
  explicit TextBlocks(const Source& source, std::size_t block_bytes = usual_bytes);
  TextBlocks(const TextBlocks&) = delete;
  TextBlocks& operator=(const TextBlocks&) = delete;

  /// The next block, or false at the end. What text() gave before is lost then.
  bool next();
  std::string_view text() const { return text_; }
  /// Lines before it.
  std::int64_t lines_before() const { return lines_before_; }
  /// Whether it is the last one.
  bool last() const { return last_; }
  /// Unpacks what is left, for the errors of the packing: text that was damaged on its way is not to blame for itself.
  void check_rest();
  /// The share of the file that has been read with it.
  double share() const { return share_; }
  /// No text of this file is longer; and what has been read of it.
  std::size_t most_bytes() const { return most_bytes_; }
  std::size_t bytes_read() const { return bytes_read_; }

 private:
  /// What lies ahead: whole lines, unless it is the last, and the beginning of one more.
  struct Ahead {
    Buffer<std::byte> memory;
    std::size_t size = 0, lines = 0;  // bytes that are filled, and those of whole lines
    double share = 1;
    bool last = true;
  };
  static Ahead fill(Unpacker& reader, std::string_view begun, std::size_t block_bytes);

  std::string_view plain_, text_;
  std::optional<Unpacker> reader_;
  std::size_t block_bytes_ = usual_bytes, most_bytes_ = plain_.size(), bytes_read_ = 0;
  Ahead now_;
  std::future<Ahead> ahead_;
  std::int64_t lines_before_ = 0;
  double share_ = 0;
  bool begun_ = false, last_ = false;
};

/// f(), which parses the block. Where it finds fault with a packed file's text, the packing's own errors come first.
template <class F>
void with_block(TextBlocks& blocks, const F& f) {
  try {
    f();
  } catch (const Error&) {
    blocks.check_rest();
    throw;
  }
}

/// A block's progress as that of its file: where there are more blocks, how much of the file is read at this one's end.
Progress within_file(const TextBlocks& blocks, const Progress& progress);

/// The first so many bytes of a file's text.
std::string text_head(const Source& source, std::size_t bytes);

}  // namespace weft::io
