#include "graph/io/note.hpp"

#include <gtest/gtest.h>

namespace weft::io {
namespace {

TEST(note, keeps_printable_text_of_every_length_of_character) {
  for (const std::string text : {"", "plain, 100 %", "\xc3\xbc", "\xe2\x86\x92", "\xf0\x9f\x95\xb8"})
    EXPECT_EQ(clean_note(text), text);
}

TEST(note, becomes_one_line) { EXPECT_EQ(clean_note("a\nb\r\nc\td"), "a b  c d"); }

TEST(note, bytes_that_are_no_utf8_become_question_marks) {
  EXPECT_EQ(clean_note("\xff"), "?");
  EXPECT_EQ(clean_note("\x80z"), "?z");
  EXPECT_EQ(clean_note("\xc0\x80"), "??");            // a longer form than needed
  EXPECT_EQ(clean_note("\xe0\x80\x80"), "???");       // the same
  EXPECT_EQ(clean_note("\xed\xa0\x80"), "???");       // half of a surrogate pair
  EXPECT_EQ(clean_note("\xf4\x90\x80\x80"), "????");  // beyond the last character
  EXPECT_EQ(clean_note("a\xe2\x86"), "a??");          // cut in the middle
  EXPECT_EQ(clean_note("\xc3("), "?(");
}

TEST(note, what_could_steer_a_terminal_becomes_question_marks) {
  EXPECT_EQ(clean_note(std::string_view("\x1b[2J\0\x7f", 6)), "?[2J??");
  EXPECT_EQ(clean_note("\xc2\x9b"
                       "31m"),
            "?31m");  // the one-character form of ESC [
  EXPECT_EQ(clean_note("\xe2\x80\xae"
                       "txt"),
            "?txt");                           // right-to-left override
  EXPECT_EQ(clean_note("\xe2\x80\xa8"), "?");  // line separator
}

TEST(note, is_cut_between_characters) {
  EXPECT_EQ(clean_note(std::string(1000, 'x')), std::string(1000, 'x'));
  EXPECT_EQ(clean_note(std::string(1001, 'x')), std::string(997, 'x') + "...");
  std::string wide;
  for (int i = 0; i < 600; ++i) wide += "\xc3\xbc";
  const std::string cut = clean_note(wide);
  EXPECT_EQ(cut, wide.substr(0, 996) + "...");
  EXPECT_EQ(clean_note(cut), cut);
}

TEST(note, may_be_cut_shorter) {
  EXPECT_EQ(clean_note("abcdefgh", 8), "abcdefgh");
  EXPECT_EQ(clean_note("abcdefghi", 8), "abcde...");
  EXPECT_EQ(clean_note("abcd\xc3\xbcghi", 8), "abcd...");
}

TEST(note, utf8_is_told_from_other_bytes) {
  for (const char* text : {"", "abc\n", "\xc3\xbc", "\xf0\x9f\x95\xb8"}) EXPECT_TRUE(is_utf8(text)) << text;
  for (const char* text : {"\xff", "a\xc3", "\xc0\x80", "\xed\xa0\x80", "\xfc"}) EXPECT_FALSE(is_utf8(text)) << text;
}

TEST(note, characters_are_written_as_utf8) {
  std::string text;
  for (const char32_t code : {U'a', U'\u00fc', U'\u2192', U'\U0001f578', char32_t{0xd800}, char32_t{0x110000}})
    append_utf8(text, code);
  EXPECT_EQ(text, "a\xc3\xbc\xe2\x86\x92\xf0\x9f\x95\xb8??");
}

}  // namespace
}  // namespace weft::io
