// What is packed comes back, whichever the packing; what is damaged, cut off or a trap does not.
#include "graph/io/unpacker.hpp"

#include <filesystem>

#include "graph/io/files.hpp"
#include "graph/io/packers.hpp"
#include "weft/context.hpp"

namespace weft::test {
namespace {

io::Source source_of(const std::string& bytes) { return {"packed", std::as_bytes(std::span(bytes)), nullptr}; }

std::string unpack(const std::string& bytes) {
  const io::Unpacked content = io::unpack_all(source_of(bytes), {});
  return {reinterpret_cast<const char*>(content.bytes().data()), content.bytes().size()};
}

void expect_damaged(const std::string& bytes, std::string_view part) {
  try {
    unpack(bytes);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_file);
    EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos) << error.what();
  }
}

std::string text_of(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; text.size() < size; ++i) text += std::to_string(i * 2654435761u) + "\n";
  return text;
}

class unpacker : public ::testing::TestWithParam<io::Packing> {
 protected:
  std::string pack(std::string_view text) const { return packed(GetParam(), text); }
};

TEST_P(unpacker, members_of_any_size_come_back) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{65536}, std::size_t{3'000'000}}) {
    const std::string text = size == 0 ? "" : text_of(size);
    const std::string bytes = pack(text);
    EXPECT_EQ(io::packing_of(std::as_bytes(std::span(bytes))), GetParam());
    EXPECT_EQ(unpack(bytes), text);
  }
}

TEST_P(unpacker, several_members_are_one_text) { EXPECT_EQ(unpack(pack("ab") + pack("") + pack("c")), "abc"); }

TEST_P(unpacker, zeros_behind_a_member_are_padding_and_anything_else_is_damage) {
  EXPECT_EQ(unpack(pack("ab") + std::string(100, '\0')), "ab");
  EXPECT_EQ(unpack(pack("ab") + std::string(8, '\0') + pack("c")), "abc");
  expect_damaged(pack("ab") + "garbage", "another " + std::string(io::name(GetParam())) + " member");
}

TEST_P(unpacker, every_cut_is_found) {
  const std::string bytes = pack(text_of(300));
  // As many bytes as say which packing it is.
  const std::size_t first = GetParam() == io::Packing::gzip ? 3 : 6;
  for (std::size_t size = first; size < bytes.size(); ++size) expect_damaged(bytes.substr(0, size), "cut off");
}

TEST_P(unpacker, a_flipped_bit_is_found_unless_it_changes_nothing) {
  const std::string text = text_of(300), bytes = pack(text);
  int unseen = 0;
  for (std::size_t byte = 10; byte < bytes.size(); ++byte)  // gzip's first ten hold date and system
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
      try {
        EXPECT_EQ(unpack(damaged), text) << "byte " << byte << " bit " << bit;
        ++unseen;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_file) << error.what();
      }
    }
  EXPECT_LT(unseen, GetParam() == io::Packing::gzip ? 8 : 10)
      << "only the bits that fill up the last byte of a packing are free";
}

TEST_P(unpacker, a_bomb_is_stopped_at_the_limit) {
  std::string bomb;
  const std::string member = pack(std::string(std::size_t{64} << 20, 'x'));
  for (int i = 0; i < 8; ++i) bomb += member;  // at most half a megabyte for half a gigabyte
  reset_memory_peak();
  expect_damaged(bomb, "unpack it by hand");
  // twice the limit, for the moment of growing
  EXPECT_LE(memory_stats().peak_bytes, std::size_t{513} << 20);
}

TEST_P(unpacker, a_file_is_read_block_by_block_to_the_same_content) {
  const TempFolder folder;
  const std::string text = text_of(5'000'000), path = folder / "packed";
  put(path, pack(text.substr(0, 2'000'000)) + pack(text.substr(2'000'000)));
  const io::Unpacked content = io::unpack_all(io::open_file(path), {});
  EXPECT_TRUE(std::ranges::equal(content.bytes(), std::as_bytes(std::span(text))));
}

TEST_P(unpacker, edge_lists_and_matrices_are_read_by_content_and_by_name) {
  const TempFolder folder;
  std::string ending;
  for (const io::PackingName& each : io::packings)
    if (each.packing == GetParam()) ending = each.ending;
  const std::string edges = folder / ("edges.txt" + ending), matrix = folder / ("matrix.mtx" + ending);
  put(edges, pack("0 1\n1 2\n2 0\n"));
  put(matrix, pack("%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 5\n"));
  const GraphFile list = read_graph(edges), values = read_graph(matrix);
  EXPECT_EQ(list.format, "edge list");
  EXPECT_EQ(list.name, "edges");
  EXPECT_EQ(list.graph.num_edges(), 3);
  EXPECT_EQ(values.name, "matrix");
  EXPECT_EQ(values.values.span<float>()[0], 5);
  put(edges, pack(""));
  expect_unreadable(edges, ErrorCode::invalid_file, {"unpacks to nothing"});
}

INSTANTIATE_TEST_SUITE_P(packings, unpacker,
                         ::testing::Values(io::Packing::gzip, io::Packing::bzip2, io::Packing::xz, io::Packing::zstd),
                         [](const auto& each) { return std::string(io::name(each.param)); });

TEST(unpacker_windows, that_xz_declares_beyond_what_weft_allows_are_refused_before_they_are_allocated) {
  lzma_options_lzma options;
  ASSERT_FALSE(::lzma_lzma_preset(&options, 0));
  options.dict_size = 1u << 30;
  // The decoder's need follows from the header: a small encoder writes it, and the dictionary is patched by hand there.
  const lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
  std::string out(4096, '\0');
  std::size_t size = 0;
  const std::string text = "0 1\n";
  if (::lzma_stream_buffer_encode(const_cast<lzma_filter*>(filters), LZMA_CHECK_CRC32, nullptr,
                                  reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                                  reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()) != LZMA_OK)
    GTEST_SKIP() << "this liblzma has no memory for an encoder with a window of 1 GiB";
  out.resize(size);
  expect_damaged(out, "pack it again with xz -9 or less");
}

}  // namespace
}  // namespace weft::test
