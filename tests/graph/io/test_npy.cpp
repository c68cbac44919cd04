#include "graph/io/archives.hpp"
#include "support/errors.hpp"

namespace weft::test {
namespace {

io::NpyHeader parse(const std::string& bytes) {
  return io::parse_npy_header(std::string_view(bytes).substr(0, io::npy_header_bytes(bytes)));
}

TEST(npy_header, what_is_made_is_parsed) {
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{}, {7}, {3, 4}, {0}, {1000000, 2, 3}}) {
    const std::string bytes = io::make_npy_header("<f4", shape);
    EXPECT_EQ(bytes.size() % 64, 0u);
    const io::NpyHeader header = parse(bytes);
    EXPECT_EQ(header.shape, shape);
    EXPECT_EQ(header.kind, io::NpyKind::floating);
    EXPECT_EQ(header.item_bytes, 4);
    EXPECT_FALSE(header.swapped);
  }
}

TEST(npy_header, all_three_versions_are_known) {
  const std::string dict = "{'descr': '>i8', 'fortran_order': True, 'shape': (3L,)}   \n";
  for (const char version : {'\x01', '\x02', '\x03'}) {
    std::string bytes = std::string("\x93NUMPY") + version + '\0';
    bytes += {static_cast<char>(dict.size()), '\0'};
    if (version != '\x01') bytes += std::string(2, '\0');
    const io::NpyHeader header = parse(bytes + dict);
    EXPECT_EQ(header.count, 3);
    EXPECT_EQ(header.data_bytes, 24);
    EXPECT_TRUE(header.swapped);
  }
}

TEST(npy_header, keys_may_come_in_any_order_and_in_either_quote) {
  const io::NpyHeader header = parse(npy_of_dict("{\"shape\":(2,5),'descr':\"|b1\",  'fortran_order' : False}"));
  EXPECT_EQ(header.count, 10);
  EXPECT_EQ(header.kind, io::NpyKind::boolean);
}

TEST(npy_header, of_two_dimensions_in_fortrans_order_says_so) {
  const auto header = [](const std::string& shape) {
    return parse(npy_of_dict("{'descr': '<f4', 'fortran_order': True, 'shape': " + shape + "}"));
  };
  EXPECT_TRUE(header("(2, 3)").by_columns);
  EXPECT_FALSE(header("(6,)").by_columns) << "of one dimension both orders are the same";
  EXPECT_FALSE(header("()").by_columns);
  expect_refused([&] { header("(1, 2, 3)"); }, "3 dimensions in Fortran order", ErrorCode::invalid_file);
}

TEST(npy_header, malformed_headers_are_refused_in_one_line) {
  const auto refused = [](const std::string& bytes, std::string_view word) {
    SCOPED_TRACE(bytes);
    expect_refused([&] { parse(bytes); }, word, ErrorCode::invalid_file);
  };
  refused("hello world, this is no array", "npy");
  refused(std::string("\x93NUMPY\x01", 7), "npy");
  refused(std::string("\x93NUMPY\x04\0\x40\0\0\0", 12), "version");
  refused(std::string("\x93NUMPY\x02\0\xff\xff\xff\x7f", 12), "header");
  refused(std::string("\x93NUMPY\x01\0\0\0\0\0", 12), "header");
  for (const char* dict : {"", "{", "{}", "{'descr'", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False}",
                           "{'descr': '<f4', 'shape': ()}", "{'fortran_order': False, 'shape': ()}", "{'descr: '<f4'}",
                           "{'descr': '<f4', 'fortran_order': Maybe, 'shape': ()}", "{'extra': '<f4'}",
                           "{'descr': '<f4', 'fortran_order': False, 'shape': (3", "{'descr': 3}",
                           "{'descr': '<f4', 'fortran_order': False, 'shape': (3 4)}",
                           "{'descr': '<f4', 'fortran_order': False, 'shape': 3}"})
    refused(npy_of_dict(std::string(dict) + "  "), "npy");
  for (const char* shape : {"(-1,)", "(99999999999999999999,)", "(x,)", "(1.5,)", "(nan,)"})
    refused(npy_of_dict("{'descr': '<f4', 'fortran_order': False, 'shape': " + std::string(shape) + "}"), "npy");
  for (const char* descr : {"", "<", "f", "<f3", "<f16", "<i3", "<x4", "<f", "<fx", "<f4x", "<M8", "<S-1"})
    refused(npy_of_dict("{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': ()}"), "type");
}

}  // namespace
}  // namespace weft::test
