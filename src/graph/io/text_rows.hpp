// Lines of text into rows of memory, block by block and on all threads: what readers of tables share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "core/check.hpp"
#include "graph/io/text_blocks.hpp"
#include "graph/io/text_chunks.hpp"
#include "graph/io/text_scan.hpp"
#include "weft/progress.hpp"

namespace weft::io {

/// Whether so many rows can stand in the text at all: where not, some line is too short, and no memory is asked for in
/// its name.
inline bool has_room(std::string_view text, std::int64_t rows, std::int64_t bytes_a_row) {
  std::int64_t bytes = 0;
  return !__builtin_mul_overflow(rows, bytes_a_row, &bytes) && bytes <= static_cast<std::int64_t>(text.size()) + 1;
}

/// Rows to have room for where so many are needed now: where only a share of the file has been read, for what may
/// follow, but never more than twice as many, nor more than text of that length holds.
inline std::int64_t rows_with_room(std::int64_t needed, const TextBlocks& blocks, std::int64_t bytes_a_row) {
  if (blocks.share() >= 1) return needed;
  const auto most = static_cast<std::int64_t>(blocks.most_bytes()) / bytes_a_row + 1;
  const double in_all = 1.05 * static_cast<double>(needed) / blocks.share();
  const std::int64_t room = in_all < 2 * static_cast<double>(needed) ? static_cast<std::int64_t>(in_all) : 2 * needed;
  return std::max(needed, std::min(room, most));
}

struct RowText {
  char separator = ' ';
  std::string_view comments = "#";
  std::int64_t bytes_a_row = 1;  // that a right line takes at least, its end included
  std::size_t skip = 0;          // bytes before the first line; within the first block
};

/// Gives the number of rows. grow(rows, room, kept) is called where there are `rows` of them now, of which the first
/// `kept` stay, and may make room for more. line(cursor, row, text, fault) reads one line of a block's `text` into its
/// row, or with a row of -1 only looks for what is wrong with it, and returns false where it has set the fault.
template <class Grow, class Line>
std::int64_t read_rows(TextBlocks& blocks, const RowText& layout, const Progress& progress, const Grow& grow,
                       const Line& line) {
  std::int64_t rows = 0;
  for (std::size_t skip = layout.skip; blocks.next(); skip = 0) {
    const std::string_view text = blocks.text();
    const TextChunks chunks(text, text.substr(std::min(skip, text.size())), layout.comments, blocks.lines_before());
    const bool keeps = has_room(text, chunks.lines(), layout.bytes_a_row);
    const std::int64_t needed = rows + chunks.lines();
    if (keeps) grow(needed, rows_with_room(needed, blocks, layout.bytes_a_row), rows);
    const auto parse = [&](std::size_t i, TextFault& fault) {
      const TextChunk& chunk = chunks.chunks()[i];
      TextCursor cursor(chunk.text, layout.separator);
      std::int64_t row = rows + chunk.first;
      for (; cursor.to_content(layout.comments); cursor.next_line(), ++row)
        if (!line(cursor, keeps ? row : -1, text, fault)) return;
    };
    with_block(blocks, [&] { chunks.each(within_file(blocks, progress), parse); });
    WEFT_CHECK(keeps, internal, "{} lines of {} bytes or more in {} bytes", chunks.lines(), layout.bytes_a_row,
               text.size());
    rows = needed;
  }
  return rows;
}

}  // namespace weft::io
