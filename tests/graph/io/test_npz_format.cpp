#include <algorithm>

#include "graph/io/archives.hpp"
#include "weft/context.hpp"

namespace weft::test {
namespace {

class npz_files : public ::testing::Test {
 protected:
  GraphFile read(const Members& members, int method = ZIP_CM_STORE) {
    put_npz(file_, members, method);
    return read_graph(file_);
  }
  void expect_refused_members(const Members& members, const std::vector<std::string>& parts,
                              ErrorCode code = ErrorCode::invalid_file, const char* file = __builtin_FILE(),
                              int line = __builtin_LINE()) {
    put_npz(file_, members);
    expect_unreadable(file_, code, parts, file, line);
  }
  void expect_the_graph(const GraphFile& file) {
    EXPECT_EQ(file.format, "npz");
    EXPECT_EQ(file.graph.num_rows(), 3);
    EXPECT_EQ(file.graph.num_cols(), 4);
    EXPECT_EQ(list(file.graph.offsets()), (std::vector<EdgeId>{0, 2, 2, 4}));
    EXPECT_EQ(list(file.graph.cols()), (std::vector<NodeId>{1, 3, 0, 2}));
    EXPECT_EQ(stored_values(file.graph, file.values), (std::vector<double>{1, 2, 3, 4}));
  }

  TempFolder folder_;
  std::string file_ = folder_ / "g.npz";
};

template <class T>
std::string swapped(const std::vector<T>& values) {
  std::string bytes = raw(values);
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(T))
    std::reverse(bytes.begin() + i, bytes.begin() + i + sizeof(T));
  return bytes;
}

TEST_F(npz_files, csr_is_read_stored_and_deflated) {
  expect_the_graph(read(csr_members()));
  expect_the_graph(read(csr_members(), ZIP_CM_DEFLATE));
}

TEST_F(npz_files, csc_is_turned_and_keeps_the_files_order_as_edge_ids) {
  Members members = csr_members();
  members["format"] = io::make_npy_header("|S3", {}) + "csc";
  members["indptr"] = npy<std::int32_t>("<i4", {0, 1, 2, 3, 4});
  members["indices"] = npy<std::int32_t>("<i4", {2, 0, 2, 0});
  members["data"] = npy<float>("<f4", {3, 1, 4, 2});
  const GraphFile file = read(members);
  expect_the_graph(file);
  EXPECT_EQ(list(file.graph.edge_ids()), (std::vector<EdgeId>{1, 3, 0, 2}));
}

TEST_F(npz_files, coo_is_read_in_any_order) {
  Members members = csr_members();
  members.erase("indptr");
  members.erase("indices");
  members["format"] = io::make_npy_header("<U3", {}) + raw<std::uint32_t>({'c', 'o', 'o'});
  members["row"] = npy<std::int32_t>("<i4", {2, 0, 2, 0});
  members["col"] = npy<std::int64_t>("<i8", {2, 3, 0, 1});
  members["data"] = npy<std::int16_t>("<i2", {4, 2, 3, 1});
  expect_the_graph(read(members));
  members["col"] = npy<std::int64_t>("<i8", {2, 3, 0});
  expect_refused_members(members, {"'row' has 4", "'col' 3"});
  members["col"] = npy<std::int64_t>("<i8", {2, 3, 0, 4});
  expect_refused_members(members, {"4"});
  members["shape"] = npy<std::int64_t>("<i8", {2147483647, 4});
  expect_refused_members(members, {"2147483647", "bytes"});
}

TEST_F(npz_files, every_number_type_in_both_byte_orders_is_read) {
  const auto try_indices = [&](std::string_view descr, auto zero) {
    using T = decltype(zero);
    SCOPED_TRACE(descr);
    const std::vector<T> indices{1, 3, 0, 2}, indptr{0, 2, 2, 4};
    Members members = csr_members();
    members["indices"] = npy("<" + std::string(descr), indices);
    members["indptr"] = npy("<" + std::string(descr), indptr);
    expect_the_graph(read(members));
    members["indices"] = io::make_npy_header(">" + std::string(descr), {4}) + swapped(indices);
    members["indptr"] = io::make_npy_header(">" + std::string(descr), {4}) + swapped(indptr);
    members["shape"] = io::make_npy_header(">i8", {2}) + swapped<std::int64_t>({3, 4});
    expect_the_graph(read(members));
  };
  try_indices("i1", std::int8_t{});
  try_indices("i2", std::int16_t{});
  try_indices("i4", std::int32_t{});
  try_indices("i8", std::int64_t{});
  try_indices("u1", std::uint8_t{});
  try_indices("u2", std::uint16_t{});
  try_indices("u4", std::uint32_t{});
  try_indices("u8", std::uint64_t{});

  const auto try_data = [&](std::string_view descr, std::string bytes, Dtype dtype) {
    SCOPED_TRACE(descr);
    Members members = csr_members();
    members["data"] = io::make_npy_header(descr, {4}) + bytes;
    const GraphFile file = read(members);
    expect_the_graph(file);
    EXPECT_EQ(file.values.dtype(), dtype);
  };
  const std::vector<std::uint16_t> halves{0x3c00, 0x4000, 0x4200, 0x4400};
  try_data("<f2", raw(halves), Dtype::f32);
  try_data(">f2", swapped(halves), Dtype::f32);
  try_data("<f4", raw<float>({1, 2, 3, 4}), Dtype::f32);
  try_data(">f4", swapped<float>({1, 2, 3, 4}), Dtype::f32);
  try_data(">f8", swapped<double>({1, 2, 3, 4}), Dtype::f32);
  try_data("|i1", raw<std::int8_t>({1, 2, 3, 4}), Dtype::f32);
  try_data("<u8", raw<std::uint64_t>({1, 2, 3, 4}), Dtype::f32);
}

TEST_F(npz_files, booleans_and_wide_numbers_keep_their_value) {
  Members members = csr_members();
  members["data"] = npy<std::uint8_t>("|b1", {1, 0, 1, 1});
  GraphFile file = read(members);
  EXPECT_EQ(stored_values(file.graph, file.values), (std::vector<double>{1, 0, 1, 1}));
  members["data"] = npy<double>("<f8", {0.1, 2, 3, 4});
  EXPECT_EQ(read(members).values.dtype(), Dtype::f64);
  members["data"] = npy<std::int64_t>("<i8", {9007199254740993, 2, 3, 4});
  EXPECT_EQ(read(members).values.dtype(), Dtype::i64);
  members["data"] = npy<std::uint64_t>("<u8", {~std::uint64_t{0}, 2, 3, 4});
  expect_refused_members(members, {"'data'", "element 0", "18446744073709551615"});
}

TEST_F(npz_files, a_missing_format_means_rows_and_missing_data_no_values) {
  Members members = csr_members();
  members.erase("format");
  expect_the_graph(read(members));
  members.erase("data");
  EXPECT_FALSE(read(members).values);
}

TEST_F(npz_files, missing_arrays_are_named_with_those_that_are_there) {
  for (const char* key : {"indptr", "indices", "shape"}) {
    Members members = csr_members();
    members.erase(key);
    expect_refused_members(members, {"'" + std::string(key) + "'", "found 'data', 'format'"});
  }
  put(file_, std::string("PK\x05\x06") + std::string(18, '\0'));
  expect_unreadable(file_, ErrorCode::invalid_file, {});
}

TEST_F(npz_files, other_sparse_formats_are_named) {
  Members members = csr_members();
  members["format"] = io::make_npy_header("|S3", {}) + "bsr";
  expect_refused_members(members, {"'bsr'", "csr, csc and coo"}, ErrorCode::unsupported);
  members["format"] = npy<std::int32_t>("<i4", {1});
  expect_refused_members(members, {"'format'", "string"});
}

TEST_F(npz_files, arrays_that_do_not_fit_together_are_named) {
  Members members = csr_members();
  members["indptr"] = npy<std::int32_t>("<i4", {0, 2, 4});
  expect_refused_members(members, {"'indptr' has 3", "expected 4"});
  members["indptr"] = npy<std::int32_t>("<i4", {0, 2, 2, 5});
  expect_refused_members(members, {"'indptr' ends with 5", "expected 4"});
  members["indptr"] = npy<std::int32_t>("<i4", {0, 3, 2, 4});
  expect_refused_members(members, {"offsets[2]"});
  members["indptr"] = npy<std::int32_t>("<i4", {1, 2, 2, 4});
  expect_refused_members(members, {"offsets[0]"});
  members = csr_members();
  members["indices"] = npy<std::int32_t>("<i4", {1, 4, 0, 2});
  expect_refused_members(members, {"cols[1]", "4"});
  members["indices"] = npy<std::int32_t>("<i4", {1, -3, 0, 2});
  expect_refused_members(members, {"cols[1]", "-3"});
  members["indices"] = npy<std::int64_t>("<i8", {1, 4294967297, 0, 2});
  expect_refused_members(members, {"'indices'", "element 1", "4294967297"});
  members["indices"] = npy<float>("<f4", {1, 3, 0, 2});
  expect_refused_members(members, {"'indices'", "<f4", "integers"});
  members = csr_members();
  members["data"] = npy<float>("<f4", {1, 2, 3});
  expect_refused_members(members, {"'data' has 3", "4"});
  members = csr_members();
  members["shape"] = npy<std::int64_t>("<i8", {3, 4, 5});
  expect_refused_members(members, {"'shape' has 3"});
  members["shape"] = npy<std::int64_t>("<i8", {-3, 4});
  expect_refused_members(members, {"-3 rows"});
  members["shape"] = npy<std::int64_t>("<i8", {3, std::int64_t{1} << 40});
  expect_refused_members(members, {"1099511627776 columns"});
}

TEST_F(npz_files, compressed_columns_cannot_ask_for_gigabytes_of_rows) {
  Members members = csr_members();
  members["format"] = io::make_npy_header("|S3", {}) + "csc";
  members["indptr"] = npy<std::int32_t>("<i4", {0, 1, 2, 3, 4});
  members["shape"] = npy<std::int64_t>("<i8", {2'000'000'000, 4});
  reset_memory_peak();
  expect_refused_members(members, {"2000000000 x 4 nodes", "bytes"});
  EXPECT_LT(memory_stats().peak_bytes, std::size_t{1} << 26);
}

TEST_F(npz_files, compressed_columns_are_checked_before_they_are_expanded) {
  Members members = csr_members();
  members["format"] = io::make_npy_header("|S3", {}) + "csc";
  members["indptr"] = npy<std::int64_t>("<i8", {0, 1'000'000'000, 2, 3, 4});
  expect_refused_members(members, {"offsets[2]"});
}

TEST_F(npz_files, python_objects_records_and_other_shapes_are_refused) {
  Members members = csr_members();
  members["data"] = npy_of_dict("{'descr': '|O', 'fortran_order': False, 'shape': (4,), }", std::string(32, '.'));
  expect_refused_members(members, {"'data'", "Python objects"});
  members["data"] =
      npy_of_dict("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,), }", std::string(16, '.'));
  expect_refused_members(members, {"'data'", "records"});
  members["data"] = npy_of_dict("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2, 1), }", std::string(16, '.'));
  expect_refused_members(members, {"'data'", "3 dimensions in Fortran order", "ascontiguousarray"});
  for (const char* order : {"True", "False"}) {
    members["data"] = npy_of_dict("{'descr': '<f4', 'fortran_order': " + std::string(order) + ", 'shape': (2, 2), }",
                                  std::string(16, '.'));
    expect_refused_members(members, {"'data'", "2 dimensions"});
  }
  members["data"] = npy_of_dict("{'descr': '<c8', 'fortran_order': False, 'shape': (4,), }", std::string(32, '.'));
  expect_refused_members(members, {"'data'", "<c8"});
}

TEST_F(npz_files, lying_headers_do_not_allocate) {
  const std::size_t before = memory_stats().peak_bytes;
  Members members = csr_members();
  for (const char* shape : {"(1099511627776,)", "(5,)", "(3,)", "(0,)"}) {
    members["indices"] = npy_of_dict("{'descr': '<i4', 'fortran_order': False, 'shape': " + std::string(shape) + ", }",
                                     raw<std::int32_t>({1, 3, 0, 2}));
    expect_refused_members(members, {"'indices'", "declares"});
  }
  members["indices"] = npy_of_dict("{'descr': '<i4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", "");
  expect_refused_members(members, {"'indices'", "2^63"});
  members["indices"] = npy_of_dict("{'descr': '<i4', 'fortran_order': False, 'shape': (9223372036854775808,), }", "");
  expect_refused_members(members, {"'indices'", "size"});
  EXPECT_LT(memory_stats().peak_bytes, before + (1 << 20));
}

TEST_F(npz_files, a_member_that_unpacks_to_more_than_its_header_says_is_refused_unread) {
  Members members = csr_members();
  members["indices"] += std::string(50'000'000, '\0');
  put_npz(file_, members, ZIP_CM_DEFLATE);
  ASSERT_LT(get(file_).size(), 100'000u);
  const std::size_t before = memory_stats().peak_bytes;
  expect_unreadable(file_, ErrorCode::invalid_file, {"'indices'", "4 elements", "50000"});
  EXPECT_LT(memory_stats().peak_bytes, before + (1 << 20));
}

TEST_F(npz_files, a_size_beyond_what_deflate_can_hold_is_refused) {
  put_npz(file_, csr_members(), ZIP_CM_DEFLATE);
  std::string bytes = get(file_);
  const std::size_t entry = bytes.find("PK\x01\x02");  // the first member's entry in the directory
  ASSERT_NE(entry, bytes.npos);
  const std::uint32_t lie = 0x7fffffff;
  std::memcpy(bytes.data() + entry + 24, &lie, 4);
  put(file_, bytes);
  expect_unreadable(file_, ErrorCode::invalid_file, {"2147483647", "impossible"});
}

TEST_F(npz_files, damaged_content_is_found_by_the_archives_checksum) {
  put_npz(file_, csr_members());
  std::string bytes = get(file_);
  const std::size_t at = bytes.find(raw<double>({1, 2, 3, 4}));
  ASSERT_NE(at, bytes.npos);
  bytes[at + 6] ^= 1;
  put(file_, bytes);
  expect_unreadable(file_, ErrorCode::invalid_file, {"'data'", "CRC"});
}

TEST_F(npz_files, a_note_may_be_bytes_or_text) {
  Members members = csr_members();
  members["weft_note"] = io::make_npy_header("|S9", {}) + "gr\xc3\xbc\xc3\x9f\x1b!!";
  EXPECT_EQ(read(members).note, "gr\xc3\xbc\xc3\x9f?!!");
  members["weft_note"] = io::make_npy_header("<U2", {}) + raw<std::uint32_t>({0xfc, 0xdf});
  EXPECT_EQ(read(members).note, "\xc3\xbc\xc3\x9f");
}

TEST_F(npz_files, a_note_that_is_no_short_string_is_refused) {
  Members members = csr_members();
  members["weft_note"] = npy<std::int32_t>("<i4", {1});
  expect_refused_members(members, {"'weft_note'", "expected one string"});
  members["weft_note"] = io::make_npy_header("|S50000000", {}) + std::string(50'000'000, 'x');
  put_npz(file_, members, ZIP_CM_DEFLATE);
  expect_unreadable(file_, ErrorCode::invalid_file, {"'weft_note'", "|S50000000"});
}

TEST_F(npz_files, a_zip_file_of_something_else_lists_what_it_holds) {
  put_npz(file_, {{"adj_data", npy<float>("<f4", {1})}});
  expect_unreadable(file_, ErrorCode::invalid_file,
                    {"'shape'", "'adj_data'", "a scipy CSR matrix with data, indices, indptr and shape"});
  Members members = csr_members();
  members.erase("indptr");
  expect_refused_members(members, {"'indptr'", "a scipy CSR matrix"});
  members["format"] = io::make_npy_header("|S3", {}) + "coo";
  expect_refused_members(members, {"'row'", "a scipy COO matrix with data, row, col and shape"});
}

}  // namespace
}  // namespace weft::test
