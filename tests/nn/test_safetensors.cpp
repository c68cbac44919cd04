// Files of tensors: what is written comes back, and what cannot be is refused.
#include <map>
#include <nlohmann/json.hpp>

#include "core/memory.hpp"
#include "nn/tensor_file_case.hpp"
#include "support/full_disk.hpp"
#include "weft/context.hpp"

namespace weft::test {
namespace {

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
  EXPECT_TRUE(same(read_tensors(file_, Checksum::ignored), {}));
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
  const TensorFile file = read_tensors(file_, Checksum::ignored);
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
  const TensorFile file = read_tensors(file_, Checksum::ignored);
  ASSERT_EQ(file.tensors.size(), 3u);
  EXPECT_EQ(file.tensors[0].name, "a");
  EXPECT_EQ(file.tensors[1].name, "none");
  EXPECT_EQ(file.tensors[2].name, "b");
  expect_values(file.tensors[0].value, {1});
  expect_values(file.tensors[2].value, {2});
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
  const std::string refusal = refusal_of([&] {
    const FullDisk disk(20'000);
    write_tensors(file_, large);
  });
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
  const std::vector<std::string> asked_for{"a file's content", "'layers.0.weight'", "'steps'"};
  for (std::size_t nth = 1; nth <= asked_for.size(); ++nth) {
    fail_allocation(nth);
    expect_file_error([&] { read_tensors(file_); }, file_, ErrorCode::out_of_memory, {asked_for[nth - 1]});
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
