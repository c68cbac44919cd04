// Specs as text: whatever the text, an answer of one short printable line.
#include "nn/spec_json.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/errors.hpp"

namespace weft::test {
namespace {

std::string right() {
  ModelSpec spec;
  spec.inputs = 3;
  spec.classes = 2;
  return nn::spec_to_json(spec);
}

std::string with(std::string_view old, std::string_view now) {
  std::string text = right();
  const std::size_t at = text.find(old);
  if (at == text.npos) throw std::runtime_error("the spec has no " + std::string(old));
  return text.replace(at, old.size(), now);
}

void expect_spec_refused(const std::string& text, const char* word) {
  SCOPED_TRACE(text.substr(0, 100));
  try {
    nn::spec_from_json(text, "file");
    ADD_FAILURE() << "it was read";
  } catch (const Error& error) {
    const std::string_view message = error.what();
    EXPECT_EQ(error.code(), ErrorCode::invalid_file) << message;
    EXPECT_TRUE(message.starts_with("file: the model's spec: ")) << message;
    EXPECT_NE(message.find(word), message.npos) << message;
    EXPECT_LT(message.size(), 300u);
    EXPECT_TRUE(std::ranges::all_of(message, [](char c) { return c >= 0x20 && c < 0x7f; })) << message;
  }
}

TEST(specs, nested_as_deep_as_the_text_likes_are_refused_without_a_deep_stack) {
  for (const std::size_t depth : {std::size_t{1}, std::size_t{1'000'000}}) {
    expect_spec_refused(with("\"gcn\"", std::string(depth, '[')), "'architecture' is a list");
    expect_spec_refused(with("\"gcn\"", std::string(depth, '[') + std::string(depth, ']')), "is a list");
    expect_spec_refused(std::string(depth, '['), "a list: expected a JSON object");
  }
  expect_spec_refused(with("\"gcn\"", "{\"a\":1}"), "'architecture' is an object");
}

TEST(specs, with_texts_that_a_terminal_obeys_are_quoted_and_cut) {
  expect_spec_refused(with("\"gcn\"", R"("\u001b[2Jdone\u0007")"), "architecture");
  expect_spec_refused(with("\"gcn\"", '"' + std::string(100'000, 'x') + '"'), "...");
  expect_spec_refused(with("\"inputs\"", R"("\u001b[2J")"), "no 'inputs'");
  expect_spec_refused("{\"\x1b[2J\"", "no JSON");
}

TEST(specs, with_numbers_that_no_field_holds_are_refused) {
  expect_spec_refused(with("\"inputs\":3", "\"inputs\":18446744073709551615"), "2^63");
  expect_spec_refused(with("\"inputs\":3", "\"inputs\":3.5"), "'3.5'");
  expect_spec_refused(with("\"inputs\":3", "\"inputs\":-1"), "inputs is -1");
  expect_spec_refused(with("\"dropout\":0.5", "\"dropout\":1e300"), "f32");
  expect_spec_refused(with("\"inputs\":3", "\"inputs\":3,\"inputs\":4"), "'inputs' twice");
  expect_spec_refused("", "no JSON");
  expect_spec_refused("3", "no JSON object");
  expect_spec_refused(right() + std::string(1, '\0'), "zero byte");
}

}  // namespace
}  // namespace weft::test
