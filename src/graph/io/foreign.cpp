#include "graph/io/foreign.hpp"

#include <algorithm>
#include <array>

#include "core/check.hpp"

namespace weft::io {
namespace {

struct Foreign {
  std::size_t at;
  std::string_view mark, what, instead;
};
constexpr std::string_view to_arrays =
    "read it in Python and write an .npz with edge_index, x and y (numpy.savez), or a .csv of edges";
constexpr std::string_view to_parts = "unpack it, and give weft the file or folder inside";

constexpr auto foreign = std::to_array<Foreign>({
    {0, "\x89HDF\r\n\x1a\n", "an HDF5 file", to_arrays},
    {0, "MATLAB 7.3 MAT-file", "a MATLAB file", to_arrays},
    {0, "MATLAB 5.0 MAT-file", "a MATLAB file",
     "read it with scipy.io.loadmat and write its matrix with scipy.sparse.save_npz, or as Matrix Market"},
    {0, "PAR1", "a Parquet file", "write it as .csv, with pandas: read_parquet(...).to_csv(..., index=False)"},
    {0, "ARROW1", "an Arrow file", "write it as .csv, with pandas: read_feather(...).to_csv(..., index=False)"},
    {0, "FEA1", "a Feather file", "write it as .csv, with pandas: read_feather(...).to_csv(..., index=False)"},
    {257, "ustar", "a tar archive", to_parts},
    {0, "7z\xbc\xaf\x27\x1c", "a 7z archive", to_parts},
    {0, "Rar!\x1a\x07", "a RAR archive", to_parts},
    {0, "\x04\x22\x4d\x18", "an lz4 file", "unpack it, or pack it as .gz, .bz2, .xz or .zst"},
    {0, "SQLite format 3", "an SQLite database", "write its edges as .csv"},
});

/// Text has no control characters but tabs and line ends.
bool is_text(std::string_view head) {
  return std::ranges::none_of(
      head, [](unsigned char c) { return (c < 0x20 && c != '\t' && c != '\r' && c != '\n') || c == 0x7f; });
}

bool is(const Foreign& kind, std::string_view head) {
  if (head.size() <= kind.at || !head.substr(kind.at).starts_with(kind.mark)) return false;
  // A table may begin with a word such as PAR1, but the files that such a mark stands for are binary.
  constexpr std::size_t looked_at = 4096;  // bytes
  const bool printable = std::ranges::all_of(kind.mark, [](char c) { return c >= 0x20 && c < 0x7f; });
  return !printable || !is_text(head.substr(0, looked_at));
}

}  // namespace

void refuse_foreign(std::string_view head) {
  for (const Foreign& each : foreign) WEFT_CHECK(!is(each, head), unsupported, "it is {}: {}", each.what, each.instead);
  // torch.save's format before version 1.6: a pickle of its magic number, 0x1950a86a20f9469cfc6c.
  constexpr std::string_view torch = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
  WEFT_CHECK(!head.starts_with(torch), unsupported, "it is a file of torch.save: {}", export_from_torch);
}

void refuse_pickle(std::string_view head) {
  WEFT_CHECK(head.size() < 2 || head[0] != '\x80' || head[1] < 2 || head[1] > 5, unsupported,
             "it is a Python pickle: {}", export_from_torch);
}

}  // namespace weft::io
