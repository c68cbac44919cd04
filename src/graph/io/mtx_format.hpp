// Matrix Market coordinate files: what the reader and the writer share.
#pragma once

#include "graph/io/format.hpp"
#include "graph/io/text_blocks.hpp"

namespace weft::io {

inline constexpr std::string_view mtx_banner = "%%MatrixMarket";
inline constexpr std::string_view mtx_note = "% weft note: ";  // starts the comment line that holds the note

Dataset read_mtx(const Source& source, const ReadOptions& options);
Dataset read_mtx(TextBlocks&& blocks, const ReadOptions& options);
/// Edges in the order of their ids, so that a reader gives every edge its id again.
void write_mtx(AtomicWriter& out, const Contents& contents, const Progress& progress);

}  // namespace weft::io
