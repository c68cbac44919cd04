#include <algorithm>
#include <limits>

#include "graph/io/checksum.hpp"
#include "graph/io/files.hpp"
#include "graph/io/weft_layout.hpp"
#include "support/graphs.hpp"
#include "weft/context.hpp"

namespace weft::test {
namespace {

using io::WeftHeader;
using io::WeftSection;

class weft_files : public ::testing::Test {
 protected:
  weft_files() {
    write_graph(file_, graph_, edge_values(graph_.num_edges()));
    bytes_ = get(file_);
  }

  WeftHeader& header() { return *reinterpret_cast<WeftHeader*>(bytes_.data()); }
  WeftSection& section(std::string_view title) {
    auto* sections = reinterpret_cast<WeftSection*>(bytes_.data() + sizeof(WeftHeader));
    for (std::uint32_t i = 0; i < header().sections; ++i)
      if (sections[i].title() == title) return sections[i];
    throw std::runtime_error("no such section");
  }
  template <class T>
  T* array(std::string_view title) {
    return reinterpret_cast<T*>(bytes_.data() + section(title).offset);
  }
  void seal_section(std::string_view title) {
    const WeftSection& s = section(title);
    section(title).crc = io::checksum(std::as_bytes(std::span(bytes_)).subspan(s.offset, s.bytes));
  }
  void seal() {
    header().crc = 0;
    const std::size_t size = std::min<std::size_t>(header().header_bytes, bytes_.size());
    header().crc = io::checksum(std::as_bytes(std::span(bytes_)).first(size));
    put(file_, bytes_);
  }
  void expect_sealed_refused(ErrorCode code, const std::vector<std::string>& parts, const char* file = __builtin_FILE(),
                             int line = __builtin_LINE()) {
    seal();
    expect_unreadable(file_, code, parts, file, line);
  }

  TempFolder folder_;
  Graph graph_ = battery::random_graph(30, 40, 200, 3);
  std::string file_ = folder_ / "g.weft";
  std::string bytes_;
};

TEST_F(weft_files, sections_are_aligned_to_64_bytes_and_in_the_documented_layout) {
  EXPECT_EQ(bytes_.substr(0, 8), "\x89WEFT\r\n\x1a");
  EXPECT_EQ(header().version, 1u);
  EXPECT_EQ(header().sections, 4u);
  for (const char* title : {"offsets", "cols", "edge_ids", "values"}) EXPECT_EQ(section(title).offset % 64, 0u);
  EXPECT_EQ(section("offsets").offset, 64u + 4 * 64);
  EXPECT_EQ(section("offsets").bytes, 31u * 8);
  EXPECT_EQ(section("values").type, 1u);
  EXPECT_EQ(bytes_.size(), section("values").offset + section("values").bytes);
}

TEST_F(weft_files, arrays_are_the_mapped_file_itself) {
  write_graph(file_, battery::random_graph(1000, 1000, 100'000, 4));
  const std::size_t before = memory_stats().live_bytes;
  ReadOptions options;
  options.validate = Validate::trusted;
  const GraphFile file = read_graph(file_, options);
  EXPECT_EQ(memory_stats().live_bytes, before);
}

TEST_F(weft_files, the_graph_outlives_its_file_and_the_result_it_came_in) {
  Graph kept;
  {
    const GraphFile file = read_graph(file_);
    kept = file.graph;
  }
  std::filesystem::remove(file_);
  expect_same_arrays(kept, graph_);
}

TEST_F(weft_files, a_mapped_graph_survives_its_file_being_replaced) {
  const GraphFile file = read_graph(file_);
  write_graph(file_, battery::grid_graph(3));
  expect_same_arrays(file.graph, graph_);
}

TEST_F(weft_files, a_newer_version_asks_for_a_newer_weft) {
  header().version = 2;
  expect_sealed_refused(ErrorCode::unsupported, {"version 2", "newer weft"});
  header().version = 0;
  expect_sealed_refused(ErrorCode::invalid_file, {"version 0"});
}

TEST_F(weft_files, unknown_features_are_refused) {
  header().flags = 4;
  expect_sealed_refused(ErrorCode::unsupported, {"0x4", "newer weft"});
}

TEST_F(weft_files, the_other_byte_order_is_recognised) {
  header().byte_order = io::weft_byte_order_swapped;
  expect_sealed_refused(ErrorCode::unsupported, {"big-endian"});
  header().byte_order = 7;
  expect_sealed_refused(ErrorCode::invalid_file, {"byte-order"});
}

TEST_F(weft_files, unknown_optional_sections_are_skipped_and_required_ones_refused) {
  WeftSection& section = this->section("values");
  section.name = {'f', 'e', 'a', 't'};
  seal();
  const GraphFile file = read_graph(file_);
  EXPECT_FALSE(file.values);
  expect_same_arrays(file.graph, graph_);
  section.flags = WeftSection::required;
  expect_sealed_refused(ErrorCode::unsupported, {"'feat'", "newer weft"});
}

TEST_F(weft_files, a_note_is_an_optional_section_of_text) {
  write_graph(file_, graph_, {}, {}, "made up");
  bytes_ = get(file_);
  EXPECT_EQ(header().version, 1u);
  EXPECT_EQ(section("note").flags, 0u);  // those who do not know it skip it
  EXPECT_EQ(section("note").type, 7u);
  EXPECT_EQ(section("note").bytes, 7u);
  section("note").type = 5;
  expect_sealed_refused(ErrorCode::invalid_file, {"'note'", "type 5"});
}

TEST_F(weft_files, a_note_that_was_damaged_is_found_and_a_bad_one_is_harmless) {
  write_graph(file_, graph_, {}, {}, "made up");
  bytes_ = get(file_);
  array<char>("note")[4] = '\x1b';
  put(file_, bytes_);
  expect_unreadable(file_, ErrorCode::invalid_file, {"'note'", "checksum"});
  ReadOptions trusted;
  trusted.validate = Validate::trusted;
  EXPECT_EQ(read_graph(file_, trusted).note, "made?up");
  seal_section("note");
  seal();
  EXPECT_EQ(read_graph(file_).note, "made?up");
  bytes_.resize(section("note").offset);
  bytes_.append(100'000, 'x');
  section("note").bytes = 100'000;
  seal_section("note");
  seal();
  EXPECT_EQ(read_graph(file_).note, std::string(997, 'x') + "...");
}

TEST_F(weft_files, a_damaged_header_is_found_by_its_checksum_in_both_modes) {
  header().cols += 1;
  put(file_, bytes_);
  for (const Validate mode : {Validate::full, Validate::trusted}) {
    ReadOptions options;
    options.validate = mode;
    expect_file_error([&] { read_graph(file_, options); }, file_, ErrorCode::invalid_file, {"header", "checksum"});
  }
}

TEST_F(weft_files, damaged_sections_are_found_by_their_checksums) {
  const std::string whole = bytes_;
  for (const char* title : {"offsets", "cols", "edge_ids", "values"}) {
    bytes_ = whole;
    bytes_[section(title).offset + 5] ^= 1;
    put(file_, bytes_);
    expect_unreadable(file_, ErrorCode::invalid_file, {title, "checksum", "damaged"});
  }
}

TEST_F(weft_files, a_column_out_of_range_with_a_valid_checksum_is_named) {
  array<NodeId>("cols")[17] = 40;
  seal_section("cols");
  expect_sealed_refused(ErrorCode::invalid_file, {"cols[17]", "40"});
  array<NodeId>("cols")[17] = -1;
  seal_section("cols");
  expect_sealed_refused(ErrorCode::invalid_file, {"cols[17]", "-1"});
}

TEST_F(weft_files, falling_offsets_with_a_valid_checksum_are_named) {
  array<EdgeId>("offsets")[3] = 1'000'000;
  seal_section("offsets");
  expect_sealed_refused(ErrorCode::invalid_file, {"offsets["});
}

TEST_F(weft_files, offsets_that_do_not_span_the_edges_are_refused_even_when_trusted) {
  array<EdgeId>("offsets")[30] = 199;
  seal_section("offsets");
  seal();
  ReadOptions options;
  options.validate = Validate::trusted;
  expect_file_error([&] { read_graph(file_, options); }, file_, ErrorCode::invalid_file, {"offsets", "199", "200"});
}

TEST_F(weft_files, repeated_edge_ids_are_refused) {
  array<EdgeId>("edge_ids")[8] = array<EdgeId>("edge_ids")[9];
  seal_section("edge_ids");
  expect_sealed_refused(ErrorCode::invalid_file, {"edge_ids["});
}

TEST_F(weft_files, edge_ids_with_the_sum_of_a_permutation_are_refused_as_well) {
  const std::span ids(array<EdgeId>("edge_ids"), 200);
  const auto low = std::ranges::find(ids, 70), high = std::ranges::find(ids, 140);
  *low += 1;
  *high -= 1;
  seal_section("edge_ids");
  expect_sealed_refused(ErrorCode::invalid_file, {"edge_ids[", "an earlier edge has that id"});
}

TEST_F(weft_files, an_edge_id_out_of_range_with_a_valid_checksum_is_named) {
  for (const EdgeId wrong : {EdgeId{-1}, EdgeId{200}}) {
    array<EdgeId>("edge_ids")[8] = wrong;
    seal_section("edge_ids");
    expect_sealed_refused(ErrorCode::invalid_file, {"edge_ids[8]", std::to_string(wrong)});
  }
}

TEST_F(weft_files, lying_counts_are_refused_without_allocating) {
  const std::string whole = bytes_;
  const std::size_t before = memory_stats().peak_bytes;
  const auto lie = [&](auto&& change, const std::vector<std::string>& parts) {
    bytes_ = whole;
    change();
    expect_sealed_refused(ErrorCode::invalid_file, parts);
  };
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  lie([&] { header().rows = huge; }, {"rows"});
  lie([&] { header().rows = -1; }, {"-1 rows"});
  lie([&] { header().rows = 31; }, {"offsets", "32"});
  lie([&] { header().cols = std::int64_t{1} << 31; }, {"columns"});
  lie([&] { header().edges = huge; }, {"cols"});
  lie([&] { header().edges = huge / 4 + 1; }, {"cols"});
  lie([&] { header().edges = -5; }, {"-5 edges"});
  lie([&] { header().sections = 1000; }, {"sections"});
  lie([&] { header().sections = 0xffffffff; }, {"sections"});
  lie([&] { section("cols").bytes = ~std::uint64_t{0}; }, {"'cols'", "cut off"});
  lie([&] { section("cols").offset = ~std::uint64_t{63}; }, {"'cols'", "cut off"});
  lie([&] { section("cols").offset += 4; }, {"'cols'", "multiple of 64"});
  lie([&] { section("cols").offset = 0; }, {"'cols'", "behind the header"});
  lie([&] { section("cols").type = 9; }, {"'cols'", "type 9"});
  lie([&] { section("offsets").type = 5; }, {"'offsets'"});
  lie([&] { section("values").width = huge; }, {"'values'"});
  lie([&] { section("values").heads = -1; }, {"'values'"});
  lie([&] { section("values").rank = 7; }, {"'values'", "rank 7"});
  lie([&] { section("edge_ids").name = section("cols").name; }, {"two sections 'cols'"});
  EXPECT_LT(memory_stats().peak_bytes, before + (1 << 20));
}

TEST_F(weft_files, a_missing_section_is_named) {
  section("cols").flags = 0;
  section("cols").name = {'x'};
  expect_sealed_refused(ErrorCode::invalid_file, {"no section 'cols'"});
}

TEST_F(weft_files, a_file_of_another_kind_named_weft_says_what_it_starts_with) {
  put(file_, std::string(200, 'x'));
  expect_unreadable(file_, ErrorCode::invalid_file, {"'xxxxxxxx'", ".weft"});
}

}  // namespace
}  // namespace weft::test
