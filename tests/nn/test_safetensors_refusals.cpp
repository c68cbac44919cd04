// Files of tensors that are not believed: every way they can be wrong.
#include <map>
#include <nlohmann/json.hpp>

#include "nn/tensor_file_case.hpp"
#include "weft/context.hpp"

namespace weft::test {
namespace {

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
  EXPECT_LE(memory_stats().peak_bytes, before + 256) << "no more than the content of such a file";
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

}  // namespace
}  // namespace weft::test
