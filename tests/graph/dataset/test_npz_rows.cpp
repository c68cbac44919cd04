// Arrays of two rows out of an archive, as edges are kept in.
#include <algorithm>
#include <array>

#include "graph/dataset/ogb_folders.hpp"
#include "graph/dataset/zip64.hpp"
#include "graph/io/npz_arrays.hpp"
#include "weft/context.hpp"

namespace weft::test {
namespace {

using Rows = std::array<std::vector<std::int32_t>, 2>;

class npz_rows : public ::testing::Test {
 protected:
  Rows read_bytes(const std::string& bytes) {
    const io::NpzArrays arrays({"e.npz", std::as_bytes(std::span(bytes))}, progress_);
    const io::EdgeEnds ends = arrays.edge_ends("e", io::EndsLayout::rows);
    return {std::vector(ends.sources.begin(), ends.sources.end()),
            std::vector(ends.targets.begin(), ends.targets.end())};
  }
  Rows read(const std::string& array, int method = ZIP_CM_STORE) {
    put_npz(file_, {{"e", array}}, method);
    return read_bytes(get(file_));
  }
  void expect_refused_array(const std::string& array, const std::vector<std::string>& parts,
                            const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    expect_file_error([&] { read(array); }, "'e", ErrorCode::invalid_file, parts, file, line);
  }

  TempFolder folder_;
  Progress progress_;  // arrays keep a reference to it
  std::string file_ = folder_ / "e.npz";
};

TEST_F(npz_rows, come_stored_deflated_and_with_64_bit_sizes) {
  const Rows wanted{std::vector<std::int32_t>{0, 1, 2}, {7, 8, 9}};
  const std::string array = npy_rows<std::int64_t>("<i8", 2, {0, 1, 2, 7, 8, 9});
  EXPECT_EQ(read(array), wanted);
  EXPECT_EQ(read(array, ZIP_CM_DEFLATE), wanted);
  EXPECT_EQ(read_bytes(Zip64({{"e", array}, {"f", array}}).bytes()), wanted);
}

TEST_F(npz_rows, come_in_every_integer_type_and_byte_order) {
  const Rows wanted{std::vector<std::int32_t>{5, 6}, {1, 0}};
  EXPECT_EQ(read(npy_rows<std::uint8_t>("|u1", 2, {5, 6, 1, 0})), wanted);
  EXPECT_EQ(read(npy_rows<std::int32_t>("<i4", 2, {5, 6, 1, 0})), wanted);
  EXPECT_EQ(read(npy_rows<std::uint64_t>("<u8", 2, {5, 6, 1, 0})), wanted);
  std::string swapped = raw<std::int64_t>({0, 1, 6, 5});
  std::ranges::reverse(swapped);
  EXPECT_EQ(read(io::make_npy_header(">i8", {2, 2}) + swapped), wanted);
}

TEST_F(npz_rows, may_be_empty_and_longer_than_a_block) {
  EXPECT_EQ(read(io::make_npy_header("<i8", {2, 0})), Rows{});
  std::vector<std::int64_t> values(2 * 70'001);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i * i % 100'003);
  const Rows rows = read(npy_rows<std::int64_t>("<i8", 2, values));
  ASSERT_EQ(rows[0].size(), 70'001u);
  EXPECT_TRUE(std::ranges::equal(rows[0], std::span(values).first(70'001)));
  EXPECT_TRUE(std::ranges::equal(rows[1], std::span(values).last(70'001)));
}

TEST_F(npz_rows, are_never_held_as_64_bit_numbers) {
  constexpr std::size_t count = 1 << 16;
  put_npz(file_, {{"e", npy_rows<std::int64_t>("<i8", 2, std::vector<std::int64_t>(2 * count, 3))}});
  const std::string bytes = get(file_);
  const std::size_t before = memory_stats().live_bytes;
  const io::NpzArrays arrays({"e.npz", std::as_bytes(std::span(bytes))}, progress_);
  reset_memory_peak();
  const io::EdgeEnds ends = arrays.edge_ends("e", io::EndsLayout::rows);
  EXPECT_EQ(ends.targets[count - 1], 3);
  EXPECT_LT(memory_stats().peak_bytes, before + 2 * count * 4 + (1 << 16));
}

TEST_F(npz_rows, in_fortrans_order_are_read_block_by_block_as_well) {
  std::vector<std::int64_t> values(2 * 70'001);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i);
  put_npz(file_, {{"e", npy_by_columns<std::int64_t>("<i8", 2, 70'001, values)}});
  const std::string bytes = get(file_);
  const io::NpzArrays arrays({"e.npz", std::as_bytes(std::span(bytes))}, progress_);
  const std::size_t before = memory_stats().live_bytes;
  reset_memory_peak();
  const io::EdgeEnds ends = arrays.edge_ends("e", io::EndsLayout::rows);
  EXPECT_LT(memory_stats().peak_bytes, before + 2 * 70'001 * 4 + (1 << 20)) << "no second copy";
  ASSERT_EQ(ends.size(), 70'001u);
  for (std::size_t k = 0; k < ends.size(); ++k) {
    ASSERT_EQ(ends.sources[k], values[k]);
    ASSERT_EQ(ends.targets[k], values[70'001 + k]);
  }
}

TEST_F(npz_rows, of_another_shape_or_type_are_refused) {
  expect_refused_array(npy<std::int64_t>("<i8", {1, 2}), {"'e' has the shape (2): expected (2, n)"});
  expect_refused_array(npy_rows<std::int64_t>("<i8", 3, {1, 2, 3, 4, 5, 6}), {"'e' has the shape (3, 2)"});
  expect_refused_array(io::make_npy_header("<i8", {2, 1, 1}) + raw<std::int64_t>({1, 2}), {"the shape (2, 1, 1)"});
  expect_refused_array(npy_rows<float>("<f4", 2, {1, 2}), {"'e' has the type '<f4': expected integers"});
  expect_refused_array(
      npy_of_dict("{'descr': '<i8', 'fortran_order': True, 'shape': (2, 2, 1), }", std::string(32, '\0')),
      {"Fortran order"});
}

TEST_F(npz_rows, with_a_number_of_more_than_31_bits_name_its_row_and_place) {
  expect_refused_array(npy_rows<std::int64_t>("<i8", 2, {1, 2, 3, 4, 2147483648, 6}),
                       {"array 'e[1]': element 1 is 2147483648"});
  expect_refused_array(npy_rows<std::int64_t>("<i8", 2, {1, 2, -2147483649, 4, 5, 6}), {"array 'e[0]': element 2"});
}

TEST_F(npz_rows, that_their_header_invents_ask_for_no_memory) {
  reset_memory_peak();
  const std::size_t before = memory_stats().peak_bytes;
  expect_refused_array(io::make_npy_header("<i8", {2, 1'000'000'000'000}) + raw<std::int64_t>({1, 2}), {"declares"});
  expect_refused_array(io::make_npy_header("<i8", {2, std::int64_t{1} << 62}), {"2^63"});
  EXPECT_LT(memory_stats().peak_bytes, before + (1 << 20));
}

}  // namespace
}  // namespace weft::test
