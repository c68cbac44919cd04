#include "nn/safetensors.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "core/memory.hpp"
#include "graph/io/files.hpp"
#include "support/compare.hpp"
#include "weft/context.hpp"

namespace weft::test {
namespace {

using nn::NamedTensor;
using nn::read_tensors;
using nn::TensorFile;
using nn::write_tensors;

/// Any bits, NaNs among them.
Tensor any_bits(Shape shape, Dtype dtype, unsigned seed) {
  Tensor tensor = Tensor::empty(shape, dtype);
  std::mt19937 random(seed);
  auto* bytes = static_cast<unsigned char*>(tensor.view().mutable_data());
  for (std::size_t i = 0; i < tensor.bytes(); ++i) bytes[i] = static_cast<unsigned char>(random());
  return tensor;
}

/// A file as another tool would write it: this header, whatever it says, and this data.
std::string file_bytes(std::string_view header, std::string_view data = {}) {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes.append(header).append(data);
}

std::string header_of(std::string_view bytes) {
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  return std::string(bytes.substr(sizeof length, length));
}

bool same(const TensorFile& a, const TensorFile& b) {
  const auto equal = [](const NamedTensor& x, const NamedTensor& y) {
    return x.name == y.name && bitwise_equal(x.value.view(), y.value.view());
  };
  return a.metadata == b.metadata && std::ranges::equal(a.tensors, b.tensors, equal);
}

/// Bit by bit, as the standard has it.
std::uint32_t plain_crc32(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
  }
  return ~crc;
}

class tensor_files : public ::testing::Test {
 protected:
  static TensorFile small() {
    TensorFile file{{{"weft.model", "gcn"}, {"made by", "a test"}}, {}};
    file.tensors.push_back({"layers.0.weight", any_bits(Shape(2, 3), Dtype::f32, 1)});
    file.tensors.push_back({"steps", any_bits(Shape(1), Dtype::i64, 2)});
    return file;
  }
  TensorFile round_trip(const TensorFile& file) {
    write_tensors(file_, file);
    return read_tensors(file_);
  }
  void expect_bytes_refused(std::string_view bytes, const std::vector<std::string>& parts,
                            const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    put(file_, bytes);
    expect_file_error([&] { read_tensors(file_); }, file_, ErrorCode::invalid_file, parts, file, line);
  }
  void expect_header_refused(std::string_view header, const std::vector<std::string>& parts,
                             const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    expect_bytes_refused(file_bytes(header, "12345678"), parts, file, line);
  }
  /// Of a tensor 'w' with these fields, over 8 bytes of data.
  void expect_tensor_refused(const std::string& fields, const std::vector<std::string>& parts,
                             const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    expect_header_refused("{\"w\":{" + fields + "}}", parts, file, line);
  }
  /// Writing is refused, and what stood there stays.
  void expect_unwritable(const TensorFile& wrong, const std::vector<std::string>& parts,
                         const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    write_tensors(file_, small());
    expect_file_error([&] { write_tensors(file_, wrong); }, file_, ErrorCode::invalid_argument, parts, file, line);
    EXPECT_TRUE(same(read_tensors(file_), small()));
    EXPECT_EQ(folder_.names().size(), 1u);
  }

  TempFolder folder_;
  std::string file_ = folder_ / "model.safetensors";
};

TEST_F(tensor_files, every_dtype_and_shape_comes_back_to_the_bit) {
  TensorFile file;
  unsigned seed = 0;
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f64, Dtype::i32, Dtype::i64})
    for (const Shape& shape : {Shape(1), Shape(7), Shape(0), Shape(3, 5), Shape(0, 4), Shape(4, 0), Shape(5, 1),
                               Shape(2, 3, 4), Shape(3, 1, 1), Shape(0, 2, 2), Shape(100, 4, 16)})
      file.tensors.push_back({fmt::format("{} {}", name(dtype), to_string(shape)), any_bits(shape, dtype, ++seed)});
  const TensorFile back = round_trip(file);
  EXPECT_TRUE(same(back, file));
  for (const NamedTensor& tensor : back.tensors) {
    EXPECT_EQ(tensor.value.device(), Device{});
    EXPECT_EQ(tensor.value.view().ld, tensor.value.shape().row_size());
  }
}

TEST_F(tensor_files, names_and_metadata_of_any_utf8_come_back) {
  TensorFile file;
  for (const std::string& text :
       {std::string(), std::string("\0", 1), std::string("a\nb\t\"\\/\x7f"), std::string("Gewicht \u00e4\u20ac"),
        std::string("\U0001f9f6"), std::string("weft.checksum"), std::string(R"("weft.checksum":"00000000")"),
        std::string("dtype"), std::string("\ufeff{"), std::string(1000, 'n')}) {
    file.tensors.push_back({text, any_bits(Shape(1), Dtype::f16, 1)});
    if (text != "weft.checksum") file.metadata[text] = text;
  }
  EXPECT_TRUE(same(round_trip(file), file));
}

TEST_F(tensor_files, neither_tensors_nor_metadata_are_needed) {
  EXPECT_TRUE(same(round_trip({}), {}));
  put(file_, file_bytes("{}"));
  EXPECT_TRUE(same(read_tensors(file_), {}));
}

TEST_F(tensor_files, the_layout_and_the_checksum_are_the_documented_ones) {
  const TensorFile file = small();
  write_tensors(file_, file);
  const std::string bytes = get(file_), header = header_of(bytes);
  EXPECT_EQ(header.size() % 8, 0u);
  auto json = nlohmann::json::parse(header);
  EXPECT_EQ(json["layers.0.weight"],
            nlohmann::json::parse(R"({"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]})"));
  EXPECT_EQ(json["steps"], nlohmann::json::parse(R"({"dtype": "I64", "shape": [1], "data_offsets": [24, 32]})"));
  EXPECT_EQ(json["__metadata__"]["weft.model"], "gcn");
  EXPECT_EQ(json["__metadata__"]["weft.checksum_kind"], "crc32");
  const std::string digits = json["__metadata__"]["weft.checksum"], data = bytes.substr(8 + header.size());
  std::string covered = bytes.substr(0, 8 + header.size());
  covered.replace(covered.find(digits), 8, "00000000");
  for (const std::string& tensor : {data.substr(0, 24), data.substr(24)})
    covered += fmt::format("{:08x}", plain_crc32(tensor));
  EXPECT_EQ(digits, fmt::format("{:08x}", plain_crc32(covered)));
}

TEST_F(tensor_files, what_python_writes_is_read) {
  std::string header = R"({"__metadata__":{"format":"pt"},"scale":{"dtype":"F64","shape":[],"data_offsets":[0,8]},)"
                       R"("bias":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},)"
                       R"("weight":{"dtype":"BF16","shape":[2,1],"data_offsets":[16,20]}})";
  header.append(8 - header.size() % 8, ' ');
  const double scale = 0.5;
  const float bias[] = {1.5f, -2.0f};
  const std::uint16_t weight[] = {0x3f80, 0xc000};
  std::string data(20, '\0');
  std::memcpy(data.data(), &scale, 8);
  std::memcpy(data.data() + 8, bias, 8);
  std::memcpy(data.data() + 16, weight, 4);
  put(file_, file_bytes(header, data));
  const TensorFile file = read_tensors(file_);
  EXPECT_EQ(file.metadata, (std::map<std::string, std::string>{{"format", "pt"}}));
  ASSERT_EQ(file.tensors.size(), 3u);
  EXPECT_EQ(file.tensors[0].name, "scale");
  EXPECT_EQ(file.tensors[0].value.shape(), Shape(1));
  expect_values(file.tensors[0].value, {0.5});
  expect_values(tensor_named(file, "bias", file_), {1.5, -2});
  EXPECT_EQ(tensor_named(file, "weight", file_).shape(), Shape(2, 1));
  expect_values(tensor_named(file, "weight", file_), {1, -2});
}

TEST_F(tensor_files, a_header_in_any_order_and_of_any_length_is_read) {
  put(file_, file_bytes("{ \"b\" : {\"data_offsets\":[4,8],\"shape\":[1],\"dtype\":\"I32\"},\n"
                        "\"none\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[4,4]},"
                        "\"\\u0061\":{\"shape\":[1,1,1],\"dtype\":\"I32\",\"data_offsets\":[0,4]}}\t ",
                        std::string_view("\1\0\0\0\2\0\0\0", 8)));
  const TensorFile file = read_tensors(file_);
  ASSERT_EQ(file.tensors.size(), 3u);
  EXPECT_EQ(file.tensors[0].name, "a");
  EXPECT_EQ(file.tensors[1].name, "none");
  EXPECT_EQ(file.tensors[2].name, "b");
  expect_values(file.tensors[0].value, {1});
  expect_values(file.tensors[2].value, {2});
}

TEST_F(tensor_files, what_is_no_file_is_refused) {
  expect_file_error([&] { read_tensors(file_); }, file_, ErrorCode::io, {"No such file"});
  expect_file_error([&] { read_tensors(folder_.path()); }, folder_.path(), ErrorCode::io, {"folder", "safetensors"});
  expect_file_error([&] { write_tensors(folder_.path(), {}); }, folder_.path(), ErrorCode::io, {"folder"});
  expect_refused([] { read_tensors(""); }, "path");
  expect_refused([] { write_tensors("", {}); }, "path");
}

TEST_F(tensor_files, a_wrong_length_of_the_header_is_refused) {
  expect_bytes_refused("", {"0 bytes", "header"});
  expect_bytes_refused("1234567", {"7 bytes"});
  expect_bytes_refused(std::string(8, '\0'), {"8 bytes"});
  expect_bytes_refused(std::string(16, '\0'), {"takes 0 bytes"});
  expect_bytes_refused(std::string(16, '\xff'), {"takes 18446744073709551615 bytes", "safetensors"});
  expect_bytes_refused(file_bytes("{}").substr(0, 9), {"9 bytes", "takes 2", "cut off"});
  put(file_, file_bytes("{}"));
  std::filesystem::resize_file(file_, 8 + 100'000'001);  // holes: it takes no space on the disk
  std::fstream(file_, std::ios::in | std::ios::out | std::ios::binary).write("\x01\xe1\xf5\x05", 4);
  expect_file_error([&] { read_tensors(file_); }, file_, ErrorCode::invalid_file, {"100000001", "100000000"});
}

TEST_F(tensor_files, a_header_that_is_no_json_object_is_refused) {
  expect_header_refused("[]", {"starts with '[]'", "'{'"});
  expect_header_refused(" {}", {"starts with ' {}'"});
  expect_header_refused("\xef\xbb\xbf{}", {"starts with '\\xef"});
  expect_header_refused("PK\3\4abcdefghijk", {"starts with 'PK", "safetensors"});
  expect_header_refused("{", {"ends within"});
  expect_header_refused(R"({"w":{"dtype":"F32")", {"ends within"});
  expect_header_refused("{]", {"byte 10", "JSON"});
  expect_header_refused("{} {}", {"byte 12", "JSON"});
  expect_header_refused("{'w':1}", {"byte 10"});
  expect_header_refused(std::string_view("{}\0\0", 4), {"byte 11", "zero"});
  expect_header_refused("{\"\xff\":{}}", {"byte 11", "UTF-8"});
  expect_header_refused("{\"\xed\xa0\x80\":{}}", {"UTF-8"});
  expect_header_refused(R"({"\ud800":{}})", {"JSON"});
}

TEST_F(tensor_files, names_that_stand_twice_are_refused) {
  const std::string empty = R"({"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  expect_header_refused("{\"w\":" + empty + ",\"\\u0077\":" + empty + "}", {"'w' twice"});
  expect_header_refused(R"({"__metadata__":{},"__metadata__":{}})", {"'__metadata__' twice"});
  expect_header_refused(R"({"__metadata__":{"a":"1","a":"1"}})", {"'a' twice"});
  expect_tensor_refused(R"("dtype":"F32","dtype":"F32")", {"'w'", "dtype twice"});
  expect_tensor_refused(R"("shape":[2],"shape":[2])", {"'w'", "shape twice"});
  expect_tensor_refused(R"("data_offsets":[0,8],"data_offsets":[0,8])", {"'w'", "data_offsets twice"});
}

TEST_F(tensor_files, metadata_that_is_no_string_is_refused) {
  for (const char* value : {"1", "-1", "1.5", "null", "true", "[]", "{}"})
    expect_header_refused(fmt::format(R"({{"__metadata__":{{"epoch":{}}}}})", value),
                          {"metadata", "'epoch'", "string"});
  for (const char* value : {"1", "null", "\"text\"", "[]"})
    expect_header_refused(fmt::format(R"({{"__metadata__":{}}})", value), {"'__metadata__'", "object"});
}

TEST_F(tensor_files, a_tensor_of_missing_or_wrong_fields_is_refused) {
  for (const char* value : {"1", "-1", "0.5", "null", "false", "\"F32\"", "[1]"})
    expect_header_refused(fmt::format(R"({{"w":{}}})", value), {"'w'", "expected an object"});
  expect_tensor_refused("", {"'w'", "no dtype"});
  expect_tensor_refused(R"("shape":[2],"data_offsets":[0,8])", {"'w'", "no dtype"});
  expect_tensor_refused(R"("dtype":"F32","data_offsets":[0,8])", {"'w'", "no shape"});
  expect_tensor_refused(R"("dtype":"F32","shape":[2])", {"'w'", "no data_offsets"});
  expect_tensor_refused(R"("dtype":"F32","shape":[2],"data_offsets":[0,8],"stride":[1])", {"'w'", "'stride'"});
  for (const char* value : {"1", "null", "[\"F32\"]", "{}"})
    expect_tensor_refused(fmt::format(R"("dtype":{})", value), {"dtype of tensor 'w'", "expected a string"});
  for (const char* key : {"shape", "data_offsets"}) {
    for (const char* value : {"2", "null", "\"[2]\"", "{}"})
      expect_tensor_refused(fmt::format(R"("{}":{})", key, value), {"'w'", key, "list of whole numbers"});
    for (const char* value : {"-1", "-0", "1.0", "1e3", "9223372036854775808", "18446744073709551616", "null", "true",
                              "\"2\"", "[2]", "{}"})
      expect_tensor_refused(fmt::format(R"("{}":[{}])", key, value), {"'w'", key, "from 0 to 2^63 - 1"});
  }
}

TEST_F(tensor_files, what_no_tensor_of_weft_holds_is_refused) {
  for (const char* dtype : {"U8", "I8", "I16", "U16", "U32", "U64", "BOOL", "F8_E4M3", "f32", "", "F32\\n"})
    expect_tensor_refused(fmt::format(R"("dtype":"{}","shape":[2],"data_offsets":[0,8])", dtype),
                          {"'w'", "dtype", "F32, F16, BF16, F64, I32 or I64"});
  expect_tensor_refused(R"("dtype":"F32","shape":[2,1,1,1],"data_offsets":[0,8])", {"'w'", "3 dimensions"});
}

TEST_F(tensor_files, sizes_that_do_not_fit_together_are_refused_before_memory_is_asked_for) {
  reset_memory_peak();
  const std::size_t before = memory_stats().peak_bytes;
  const auto refused = [&](std::string_view shape, std::string_view offsets, const std::vector<std::string>& parts) {
    expect_tensor_refused(fmt::format(R"("dtype":"F32","shape":[{}],"data_offsets":[{}])", shape, offsets), parts);
  };
  refused("3", "0,8", {"'w'", "8 bytes", "[3]", "12"});
  refused("", "0,8", {"'w'", "8 bytes", "4"});
  refused("2", "8,0", {"'w'", "8 and 0"});
  refused("2", "", {"'w'", "0 numbers"});
  refused("2", "0", {"'w'", "1 numbers"});
  refused("2", "0,8,8", {"'w'", "more than 2"});
  refused("4611686018427387904", "0,8", {"'w'", "2^63"});
  refused("4294967296,4294967296", "0,0", {"'w'", "2^63"});
  refused("2,4294967296,4294967296", "0,8", {"'w'", "2^63"});
  refused("0,4294967296,4294967296", "0,0", {"'w'", "2^63"});
  refused("1000000000000", "0,4000000000000", {"'w'", "4000000000000", "cut off"});
  refused("2", "9223372036854775799,9223372036854775807", {"'w'", "9223372036854775807"});
  EXPECT_EQ(memory_stats().peak_bytes, before);
}

TEST_F(tensor_files, data_that_is_not_covered_exactly_once_is_refused) {
  const auto refused = [&](std::string_view a, std::string_view b, const std::vector<std::string>& parts) {
    const auto entry = [](std::string_view offsets) {
      return fmt::format(R"({{"dtype":"F16","shape":[2],"data_offsets":[{}]}})", offsets);
    };
    expect_header_refused(fmt::format(R"({{"a":{},"b":{}}})", entry(a), entry(b)), parts);
  };
  refused("0,4", "0,4", {"'b'", "within", "byte 4"});
  refused("0,4", "2,6", {"'b'", "byte 2", "byte 4"});
  refused("2,6", "0,4", {"'a'", "byte 2", "byte 4"});
  refused("1,5", "4,8", {"bytes 0 to 1"});
  refused("4,8", "8,12", {"bytes 0 to 4"});
  refused("0,4", "8,12", {"'b'", "byte 12", "8", "cut off"});
  expect_tensor_refused(R"("dtype":"F16","shape":[2],"data_offsets":[0,4])", {"bytes 4 to 8", "no tensor"});
  expect_tensor_refused(R"("dtype":"F16","shape":[2],"data_offsets":[4,8])", {"bytes 0 to 4", "no tensor"});
  expect_header_refused("{}", {"bytes 0 to 8", "no tensor"});
}

TEST_F(tensor_files, deep_nesting_is_refused_where_it_starts) {
  constexpr int depth = 1'000'000;
  std::string lists(depth, '['), objects;
  for (int i = 0; i < depth; ++i) objects += "{\"a\":";
  expect_header_refused(objects, {"'a' has the key 'a'"});
  expect_header_refused("{\"w\":" + lists, {"'w'", "a list"});
  expect_header_refused("{\"__metadata__\":{\"a\":" + objects, {"'a'", "an object"});
  expect_tensor_refused("\"shape\":" + lists, {"shape of tensor 'w'", "a list"});
}

TEST_F(tensor_files, a_cut_anywhere_and_a_byte_more_are_refused) {
  write_tensors(file_, small());
  const std::string whole = get(file_);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    expect_bytes_refused(whole.substr(0, size), {});
  }
  expect_bytes_refused(whole + '\0', {"no tensor"});
}

TEST_F(tensor_files, no_changed_byte_passes_for_other_content) {
  write_tensors(file_, small());
  const std::string whole = get(file_);
  std::string bytes = whole;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int change = 1; change < 256; ++change) {
      bytes[at] = static_cast<char>(whole[at] ^ change);
      put(file_, bytes);
      try {
        EXPECT_TRUE(same(read_tensors(file_), small())) << "byte " << at << " changed by " << change;
      } catch (const Error& error) {
        EXPECT_EQ(name(error.code()), "invalid_file") << error.what();
      }
    }
    bytes[at] = whole[at];
  }
}

TEST_F(tensor_files, a_checksum_that_is_wrong_or_not_whole_is_refused) {
  write_tensors(file_, small());
  const std::string whole = get(file_);
  const auto with = [&](std::string_view old, std::string_view now) {
    std::string header = header_of(whole);
    const std::string data = whole.substr(8 + header.size());
    return file_bytes(header.replace(header.find(old), old.size(), now), data);
  };
  const std::string sum = whole.substr(whole.find("weft.checksum\":\"") + 16, 8);
  expect_bytes_refused(with(sum, "0badc0de"), {"checksum is", "'0badc0de'", "damaged"});
  expect_bytes_refused(with(sum, ""), {"weft.checksum", "''"});
  expect_bytes_refused(with("a test", "a lie!"), {"checksum is", sum, "damaged"});
  expect_bytes_refused(with(" ", ""), {"damaged"});
  expect_bytes_refused(with("crc32", "crc64"), {"'weft.checksum_kind'", "'crc64'", "'crc32'"});
  expect_bytes_refused(with(R"("weft.checksum_kind":"crc32",)", ""), {"'weft.checksum' without 'weft.checksum_kind'"});
  expect_bytes_refused(with(R"("weft.checksum":")" + sum + "\",", ""), {"'weft.checksum_kind' without"});
  expect_bytes_refused(with("{\"weft", "{ \"weft"), {"where weft writes it", "damaged"});
}

TEST_F(tensor_files, what_cannot_be_read_back_is_not_written) {
  TensorFile file = small();
  file.tensors[1].name = file.tensors[0].name;
  expect_unwritable(file, {"two tensors", "'layers.0.weight'"});
  file.tensors[1].name = "__metadata__";
  expect_unwritable(file, {"'__metadata__'"});
  file.tensors[1].name = "\xff\nname";
  expect_unwritable(file, {"'\\xff\\x0aname'", "UTF-8"});
  file = small();
  file.tensors[1].value = {};
  expect_unwritable(file, {"'steps'", "no value"});
  file = small();
  file.metadata["weft.checksum"] = "00000000";
  expect_unwritable(file, {"'weft.checksum'"});
  file = small();
  file.metadata["weft.checksum_kind"] = "crc32";
  expect_unwritable(file, {"'weft.checksum_kind'"});
  file = small();
  file.metadata["text"] = "\xed\xa0\x80";
  expect_unwritable(file, {"UTF-8"});
  file.metadata["text"].assign(100'000'000, 'x');
  expect_unwritable(file, {"100000000", "fewer"});
}

TEST_F(tensor_files, a_tensor_on_a_gpu_is_not_written) {
  std::string why;
  if (cuda_devices(&why).empty()) GTEST_SKIP() << why;
  TensorFile file = small();
  file.tensors[1].value = Tensor::zeros(Shape(3), Dtype::f32, "test", Device{DeviceKind::cuda, 0});
  expect_unwritable(file, {"'steps'", "cuda:0", "host"});
}

TEST_F(tensor_files, a_full_disk_leaves_the_old_file_whole_and_nothing_else) {
  write_tensors(file_, small());
  TensorFile large;
  large.tensors.push_back({"w", any_bits(Shape(10'000), Dtype::f32, 3)});
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  const rlimit full{20'000, old.rlim_max};  // what a full disk looks like to a process
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &full);
  const std::string refusal = refusal_of([&] { write_tensors(file_, large); });
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, handler);
  EXPECT_NE(refusal.find(file_ + ": cannot write"), refusal.npos) << refusal;
  EXPECT_TRUE(same(read_tensors(file_), small()));
  EXPECT_EQ(folder_.names().size(), 1u);
  EXPECT_TRUE(same(round_trip(large), large));
}

TEST_F(tensor_files, a_missing_folder_is_named_when_writing) {
  const std::string path = folder_ / "missing/model.safetensors";
  expect_file_error([&] { write_tensors(path, small()); }, path, ErrorCode::io, {"missing'", "No such file"});
  EXPECT_TRUE(folder_.names().empty());
}

TEST_F(tensor_files, every_failing_allocation_of_a_tensor_names_the_file) {
  write_tensors(file_, small());
  for (const std::size_t nth : {1, 2}) {
    fail_allocation(nth);
    expect_file_error([&] { read_tensors(file_); }, file_, ErrorCode::out_of_memory,
                      {nth == 1 ? "'layers.0.weight'" : "'steps'"});
    fail_allocation(0);
  }
}

TEST_F(tensor_files, a_tensor_is_found_by_its_name) {
  TensorFile file = small();
  EXPECT_EQ(&tensor_named(std::as_const(file), "steps", file_), &file.tensors[1].value);
  const Tensor taken = std::move(tensor_named(file, "steps", file_));
  EXPECT_TRUE(bitwise_equal(taken.view(), small().tensors[1].value.view()));
  expect_file_error([&] { tensor_named(file, "step", file_); }, file_, ErrorCode::invalid_file,
                    {"no tensor 'step'", "2 tensors", "'layers.0.weight', 'steps'"});
  expect_file_error([&] { tensor_named(TensorFile{}, "w", file_); }, file_, ErrorCode::invalid_file, {"no tensor 'w'"});
}

}  // namespace
}  // namespace weft::test
