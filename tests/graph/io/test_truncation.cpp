// Files that become shorter while they are read end in an Error, not in a signal.
#include <filesystem>

#include "graph/io/archives.hpp"
#include "graph/io/npy_file.hpp"
#include "graph/io/npz_arrays.hpp"
#include "graph/io/packers.hpp"
#include "graph/io/text_blocks.hpp"

namespace weft::test {
namespace {

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

void expect_truncated(const std::string& message) {
  EXPECT_NE(message.find("truncated while weft read it"), message.npos) << message;
}

/// Numbers that look random, so that the text stays several MiB long when it is packed.
std::string many_lines() {
  std::string text;
  for (std::uint64_t i = 1; i <= 600'000; ++i) {
    const std::uint64_t mixed = (i * 0x9e3779b97f4a7c15) ^ (i * i * 0xbf58476d1ce4e5b9);
    text += std::to_string(mixed >> 32) + " " + std::to_string(mixed & 0xffffffff) + "\n";
  }
  return text;
}

TEST(truncated_files, of_text_are_refused_in_the_block_that_is_gone) {
  const TempFolder folder;
  const std::string text = many_lines();
  for (const io::Packing packing : {io::Packing::none, io::Packing::gzip, io::Packing::zstd}) {
    SCOPED_TRACE(io::name(packing));
    const std::string path = folder / "edges.txt";
    put(path, packed(packing, text));
    ASSERT_GT(std::filesystem::file_size(path), std::size_t{4} << 20) << "more than is read ahead";
    io::TextBlocks blocks(io::open_file(path), 1 << 16);
    ASSERT_TRUE(blocks.next());
    std::filesystem::resize_file(path, 1000);
    expect_truncated(refusal([&] { blocks.check_rest(); }));
  }
}

TEST(truncated_files, of_arrays_and_archives_are_refused) {
  const TempFolder folder;
  const std::string array = folder / "x.npy", archive = folder / "x.npz";
  const std::vector<float> numbers(1 << 20, 1.5f);
  const std::string bytes = io::make_npy_header("<f4", {1 << 10, 1 << 10}) + raw(numbers);
  put(array, bytes);
  io::Source source = io::open_file(array);
  std::filesystem::resize_file(array, 1 << 16);
  expect_truncated(refusal([&] { io::read_npy_matrix(source, {}); }));
  put_npz(archive, {{"a", bytes}, {"b", bytes}});
  source = io::open_file(archive);
  const Progress progress;
  const io::NpzArrays arrays(source, progress);
  std::filesystem::resize_file(archive, 1 << 16);
  EXPECT_NE(refusal([&] { arrays.matrix("b"); }).find("array 'b'"), std::string::npos);
  EXPECT_NE(refusal([&] { arrays.matrix("a"); }).find("array 'a'"), std::string::npos);
}

TEST(truncated_files, whose_whole_content_is_wanted_are_refused) {
  const TempFolder folder;
  const std::string path = folder / "g.csr";
  put(path, std::string(1 << 20, 'x'));
  io::Source source = io::open_file(path);
  std::filesystem::resize_file(path, 1 << 17);
  expect_truncated(refusal([&] { io::load(source, {}); }));
}

}  // namespace
}  // namespace weft::test
