#include "graph/dataset/pickle.hpp"

#include "graph/dataset/pickled_arrays.hpp"
#include "graph/dataset/pickles.hpp"
#include "graph/io/files.hpp"

namespace weft::test {
namespace {

using io::Pickle;
using io::PickleGlobal;
using io::PickleKind;
using io::PickleValue;
using namespace std::string_literals;

void expect_refused_pickle(const std::string& bytes, const std::vector<std::string>& parts,
                           const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  expect_file_error([&] { Pickle{bytes}; }, "", ErrorCode::invalid_file, parts, file, line);
}

std::string string_in(const std::string& body) {
  const std::string bytes = body + ".";
  const Pickle pickle(bytes);
  EXPECT_EQ(pickle.root().kind, PickleKind::string);
  return std::string(pickle.string(pickle.root()));
}

TEST(pickles, numbers_of_every_notation_keep_their_value) {
  const std::string bytes =
      "(I-7\nI01\nI00\nJ\xfe\xff\xff\xffK\xc8M\x34\x12L12345678901L\nL-5\n\x8a\x00\x8a\x01\xff\x8a\x02\x00\x80"
      "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x88\x89Nt."s;
  const Pickle pickle(bytes);
  ASSERT_EQ(pickle.root().kind, PickleKind::tuple);
  std::vector<std::int64_t> numbers;
  std::string kinds;
  for (const PickleValue value : pickle.items(pickle.root())) {
    numbers.push_back(value.number);
    kinds += value.kind == PickleKind::integer ? 'i' : value.kind == PickleKind::boolean ? 'b' : 'N';
  }
  EXPECT_EQ(numbers,
            (std::vector<std::int64_t>{-7, 1, 0, -2, 200, 0x1234, 12345678901, -5, 0, -1, -32768, INT64_MAX, 1, 0, 0}));
  EXPECT_EQ(kinds, "ibbiiiiiiiiibbN");
  const std::string reals = "(F-2.5\nG\x3f\xe8\0\0\0\0\0\0l."s;
  const Pickle floats(reals);
  ASSERT_EQ(floats.root().kind, PickleKind::list);
  EXPECT_EQ(floats.items(floats.root())[0].real(), -2.5);
  EXPECT_EQ(floats.items(floats.root())[1].real(), 0.75);
}

TEST(pickles, strings_of_every_notation_are_the_same_bytes) {
  const std::string wanted = "a'\\\n\0\xff\xe9"s;
  EXPECT_EQ(string_in("U\x07" + wanted), wanted);
  EXPECT_EQ(string_in("T\x07\0\0\0"s + wanted), wanted);
  EXPECT_EQ(string_in("S'a\\'\\\\\\n\\x00\\xff\xe9'\n"), wanted);
  EXPECT_EQ(string_in("S\"a'\\\\\\n\\x00\\xff\\xe9\"\n"), wanted);
  EXPECT_EQ(string_in("Va'\\u005c\\u000a\\u0000\\u00ff\xe9\n"), wanted);
  EXPECT_EQ(string_in("X\x09\0\0\0a'\\\n\0\xc3\xbf\xc3\xa9"s), wanted);
  EXPECT_EQ(string_in("c_codecs\nencode\n(X\x09\0\0\0a'\\\n\0\xc3\xbf\xc3\xa9X\x06\0\0\0latin1tR"s), wanted);
  EXPECT_EQ(string_in("S'plain'\n"), "plain");
  EXPECT_EQ(string_in("S'\\t\\r\\\"'\n"), "\t\r\"");
  EXPECT_EQ(string_in("Va\\b\n"), "a\\b");
}

TEST(pickles, strings_stand_in_the_file_where_they_can) {
  const std::string bytes =
      "U\x03"
      "abc.";
  const Pickle pickle(bytes);
  EXPECT_EQ(pickle.string(pickle.root()).data(), bytes.data() + 2);
}

TEST(pickles, damaged_strings_are_refused) {
  expect_refused_pickle("S'a\n.", {"byte 0", "STRING", "''a'", "quotes"});
  expect_refused_pickle("S'\\q'\n.", {"STRING", "escape", "\\q"});
  expect_refused_pickle("S'\\x4'\n.", {"STRING", "escape", "\\x4"});
  expect_refused_pickle("S'\\'\n.", {"STRING", "escape"});
  expect_refused_pickle("Va\\u12\n.", {"UNICODE", "\\u12", "Latin-1"});
  expect_refused_pickle("V\\u20ac\n.", {"UNICODE", "\\u20ac", "Latin-1"});
  expect_refused_pickle("X\x03\0\0\0\xe2\x82\xac."s, {"BINUNICODE", "\\xe2", "Latin-1"});
  expect_refused_pickle("X\x01\0\0\0\xc3."s, {"BINUNICODE", "\\xc3", "Latin-1"});
  expect_refused_pickle(
      "c_codecs\nencode\n(U\x01"
      "aU\x04"
      "utf8tR.",
      {"byte 27", "REDUCE", "latin1"});
}

TEST(pickles, lists_and_dicts_are_built_in_every_way) {
  for (const char* body : {"(I1\nI2\nl.", "]I1\naI2\na.", "](I1\nI2\ne.", "]q\x05(I1\nI2\ne."}) {
    const Pickle pickle(body);
    ASSERT_EQ(pickle.root().kind, PickleKind::list);
    ASSERT_EQ(pickle.items(pickle.root()).size(), 2u);
    EXPECT_EQ(pickle.items(pickle.root())[1].number, 2);
  }
  const std::string defaultdict = pickles::global("collections", "defaultdict") + "(cbuiltins\nlist\ntR";
  for (const std::string& body : {"(I1\nI2\nd."s, "}I1\nI2\ns."s, "}(I1\nI2\nu."s, defaultdict + "I1\nI2\ns.",
                                  "ccollections\ndefaultdict\n)R(I1\nI2\nu."s}) {
    const Pickle pickle(body);
    ASSERT_EQ(pickle.root().kind, PickleKind::dict);
    ASSERT_EQ(pickle.items(pickle.root()).size(), 2u);
    EXPECT_EQ(pickle.items(pickle.root())[0].number, 1);
    EXPECT_EQ(pickle.items(pickle.root())[1].number, 2);
  }
}

TEST(pickles, the_memo_gives_back_the_same_list) {
  for (const char* body : {"(]q\x07h\x07I5\nat.", "(]p7\ng7\nI5\nat."}) {
    const Pickle pickle(body);
    const auto items = pickle.items(pickle.root());
    ASSERT_EQ(items.size(), 2u);
    EXPECT_EQ(items[0].number, items[1].number);
    ASSERT_EQ(pickle.items(items[0]).size(), 1u);
    EXPECT_EQ(pickle.items(items[0])[0].number, 5);
  }
  const std::string wide = "(]r\x07\0\0\0j\x07\0\0\0t."s;
  EXPECT_EQ(Pickle(wide).root().kind, PickleKind::tuple);
}

TEST(pickles, a_list_inside_itself_is_read) {
  const std::string bytes =
      "]q\x01h\x01"
      "a.";
  const Pickle pickle(bytes);
  EXPECT_EQ(pickle.items(pickle.root())[0].number, pickle.root().number);
}

TEST(pickles, only_names_on_the_list_are_accepted) {
  expect_refused_pickle("cos\nsystem\n(S'true'\ntR.", {"byte 0", "GLOBAL", "'system' of 'os'"});
  expect_refused_pickle(pickles::pickle(pickles::global("posix", "system")),
                        {"byte 2", "GLOBAL", "'system' of 'posix'"});
  for (const auto& [module, name] : {std::pair("__builtin__", "eval"),
                                     {"builtins", "getattr"},
                                     {"numpy", "load"},
                                     {"collections", "list"},
                                     {"", ""},
                                     {"scipy.sparse.csr", "csr_matrix "}})
    expect_refused_pickle(pickles::pickle(pickles::global(module, name)),
                          {"byte 2", "GLOBAL", "'"s + name + "' of '" + module + "'"});
  for (const auto& [module, name] : {std::pair("scipy.sparse.csr", "csr_matrix"),
                                     {"scipy.sparse._csr", "csr_matrix"},
                                     {"scipy.sparse.csr_matrix", "csr_matrix"},
                                     {"numpy.core.multiarray", "_reconstruct"},
                                     {"numpy._core.multiarray", "_reconstruct"},
                                     {"numpy", "ndarray"},
                                     {"numpy", "dtype"},
                                     {"collections", "defaultdict"},
                                     {"__builtin__", "list"},
                                     {"builtins", "list"},
                                     {"copy_reg", "_reconstructor"},
                                     {"copyreg", "_reconstructor"},
                                     {"__builtin__", "object"},
                                     {"builtins", "object"},
                                     {"_codecs", "encode"}}) {
    const std::string bytes = pickles::pickle(pickles::global(module, name));
    EXPECT_EQ(Pickle(bytes).root().kind, PickleKind::global) << module;
  }
}

TEST(pickles, accepted_names_are_only_called_for_what_they_make) {
  const std::string list = pickles::global("__builtin__", "list"), ndarray = pickles::global("numpy", "ndarray");
  expect_refused_pickle(list + ")R.", {"byte 19", "REDUCE", "no function"});
  expect_refused_pickle(ndarray + ")R.", {"REDUCE", "no function"});
  expect_refused_pickle(ndarray + ")\x81.", {"byte 16", "NEWOBJ", "csr_matrix"});
  expect_refused_pickle(pickles::global("copy_reg", "_reconstructor") + "(" + list + "tR.",
                        {"REDUCE", "_reconstructor", "csr_matrix"});
  expect_refused_pickle(pickles::global("numpy.core.multiarray", "_reconstruct") + "(" + list + "tR.",
                        {"REDUCE", "_reconstruct", "ndarray"});
  expect_refused_pickle(pickles::global("numpy.core.multiarray", "_reconstruct") + ")R.", {"_reconstruct", "ndarray"});
  expect_refused_pickle(pickles::global("collections", "defaultdict") + "(" + ndarray + "tR.",
                        {"defaultdict", "lists"});
  expect_refused_pickle("I1\n)R.", {"REDUCE", "an integer", "a name"});
  expect_refused_pickle(list + "I1\nR.", {"REDUCE", "an integer", "a tuple"});
  expect_refused_pickle("]}b.", {"byte 2", "BUILD", "a list", "an object"});
}

TEST(pickles, other_opcodes_are_named_with_their_place) {
  expect_refused_pickle("I1\nP1\n.", {"byte 3", "'P'"});                             // a persistent id
  expect_refused_pickle("(ios\nsystem\n.", {"byte 1", "'i'"});                       // INST
  expect_refused_pickle("(cnumpy\ndtype\no.", {"byte 14", "'o'"});                   // OBJ
  expect_refused_pickle("\x82\x01.", {"byte 0", "'\\x82'"});                         // EXT1
  expect_refused_pickle("\x80\x02U\x02osU\x06system\x93.", {"byte 14", "'\\x93'"});  // STACK_GLOBAL
  expect_refused_pickle("\x8b\x01\0\0\0\x01."s, {"byte 0", "'\\x8b'"});              // LONG4
  expect_refused_pickle("]0.", {"byte 1", "'0'"});                                   // POP
  expect_refused_pickle("\x80\x04N.", {"byte 0", "PROTO", "protocol 4", "0, 1 or 2"});
  expect_refused_pickle("{}", {"byte 0", "'{'"});
}

TEST(pickles, cut_short_at_any_byte_they_are_refused) {
  const std::string whole = pickles::pickle(pickles::Csr(2, 3, {0, 1, 2}, {2, 0}, {1, 1})());
  EXPECT_NO_THROW(Pickle{whole});
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_THROW(Pickle{std::string_view(whole).substr(0, length)}, Error) << length;
  expect_refused_pickle("", {"ends after 0 bytes", "STOP"});
  expect_refused_pickle("](I1\n", {"ends after 5 bytes", "STOP"});
  expect_refused_pickle("M\x01", {"byte 0", "BININT2", "2 bytes must follow", "ends after 1"});
  expect_refused_pickle("I12", {"byte 0", "INT", "line"});
}

TEST(pickles, lengths_beyond_the_file_are_refused) {
  expect_refused_pickle(
      "T\xff\xff\xff\x7f"
      "abc.",
      {"byte 0", "BINSTRING", "2147483647 bytes", "ends after 4"});
  expect_refused_pickle(
      "T\xff\xff\xff\xff"
      "abc.",
      {"byte 0", "BINSTRING", "-1"});
  expect_refused_pickle(
      "X\xff\xff\xff\xff"
      "abc.",
      {"BINUNICODE", "4294967295 bytes", "ends after 4"});
  expect_refused_pickle(
      "U\x09"
      "abc.",
      {"SHORT_BINSTRING", "9 bytes", "ends after 4"});
  expect_refused_pickle(
      "\x8a\x09"
      "123456789.",
      {"LONG1", "9 bytes", "at most 8"});
  expect_refused_pickle("I99999999999999999999\n.", {"INT", "'99999999999999999999'", "64 bits"});
  expect_refused_pickle("L12x\n.", {"LONG", "'12x'"});
}

TEST(pickles, the_memo_is_checked_both_ways) {
  expect_refused_pickle("]q\x01h\x02.", {"byte 3", "BINGET", "place 2", "empty"});
  expect_refused_pickle("]q\x03h\x02.", {"byte 3", "BINGET", "place 2", "empty"});
  expect_refused_pickle("g7\n.", {"byte 0", "GET", "place 7"});
  expect_refused_pickle("j\xff\xff\xff\xff.", {"LONG_BINGET", "place 4294967295"});
  expect_refused_pickle("]r\xff\xff\xff\x7f.", {"byte 1", "LONG_BINPUT", "2147483647", "7 bytes"});
  expect_refused_pickle("]p-1\n.", {"PUT", "'-1'"});
  expect_refused_pickle("q\x01.", {"BINPUT", "needs a value"});
}

TEST(pickles, deep_nesting_is_refused_and_does_not_recurse) {
  const auto times = [](std::string_view text, std::size_t count) {
    std::string all;
    for (std::size_t i = 0; i < count; ++i) all += text;
    return all;
  };
  EXPECT_NO_THROW(Pickle{")" + times("\x85", 999) + "."});
  expect_refused_pickle(")" + times("\x85", 1000) + ".", {"byte 1000", "TUPLE1", "1000 levels"});
  expect_refused_pickle(times("(", 1001), {"byte 1000", "MARK", "1000 levels"});
  expect_refused_pickle(times("(", 1'000'000), {"MARK", "1000 levels"});
  expect_refused_pickle(times("]", 2000) + times("a", 1999) + ".", {"APPEND", "1000 levels"});
}

TEST(pickles, a_stack_that_does_not_fit_the_opcode_is_refused) {
  expect_refused_pickle("a.", {"byte 0", "APPEND", "needs a value"});
  expect_refused_pickle("I1\na.", {"APPEND", "needs a value"});
  expect_refused_pickle("I1\nI2\na.", {"APPEND", "an integer", "a list"});
  expect_refused_pickle("(a.", {"APPEND", "needs a value"});
  expect_refused_pickle("]e.", {"APPENDS", "MARK"});
  expect_refused_pickle("(I1\ne.", {"APPENDS", "nothing stands before"});
  expect_refused_pickle("](}(I1\nI2\ne.", {"APPENDS", "a dict", "a list"});
  expect_refused_pickle("}(I1\nu.", {"SETITEMS", "no value"});
  expect_refused_pickle("(I1\nd.", {"DICT", "no value"});
  expect_refused_pickle("](I1\n\x86.", {"TUPLE2", "needs 2 values", "1 stand"});
  expect_refused_pickle("t.", {"TUPLE", "MARK"});
  expect_refused_pickle(".", {"STOP", "0 values"});
  expect_refused_pickle("NN.", {"STOP", "2 values"});
  expect_refused_pickle("N(.", {"STOP", "1 MARKs"});
  expect_refused_pickle("N.N.", {"byte 1", "STOP", "2 bytes follow"});
}

TEST(pickles, arrays_of_every_type_and_byte_order_are_read) {
  const auto expect_the_numbers = [](const std::string& type, const std::string& order, std::string content) {
    SCOPED_TRACE(order + type);
    const std::string bytes = pickles::pickle(pickles::array_of({3}, pickles::string(content), {type, order}));
    const Pickle pickle(bytes);
    EXPECT_EQ(list(std::span<const float>(io::pickled_array(pickle, pickle.root()).read<float>("numbers", {}))),
              (std::vector<float>{1, 0, 2}));
  };
  expect_the_numbers("i2", "<", pickles::raw<std::int16_t>({1, 0, 2}));
  expect_the_numbers("i4", "<", pickles::raw<std::int32_t>({1, 0, 2}));
  expect_the_numbers("i8", "<", pickles::raw<std::int64_t>({1, 0, 2}));
  expect_the_numbers("f4", "<", pickles::raw<float>({1, 0, 2}));
  expect_the_numbers("f8", "=", pickles::raw<double>({1, 0, 2}));
  expect_the_numbers("i1", "|", pickles::raw<std::int8_t>({1, 0, 2}));
  expect_the_numbers("u1", "|", pickles::raw<std::int8_t>({1, 0, 2}));
  expect_the_numbers("i2", ">", "\0\1\0\0\0\2"s);
  expect_the_numbers("i4", ">", "\0\0\0\1\0\0\0\0\0\0\0\2"s);
  expect_the_numbers("f4", ">", "\x3f\x80\0\0\0\0\0\0\x40\0\0\0"s);
}

TEST(pickles, arrays_that_do_not_fit_their_bytes_are_refused) {
  const auto expect_no_array = [](const std::string& body, const std::vector<std::string>& parts) {
    const std::string bytes = pickles::pickle(body);
    const Pickle pickle(bytes);
    expect_file_error([&] { io::pickled_array(pickle, pickle.root()); }, "", ErrorCode::invalid_file, parts);
  };
  const std::string eight = pickles::string("12345678");
  expect_no_array(pickles::array_of({3}, eight), {"shape (3)", "'<i4'", "8 bytes", "expected 12"});
  expect_no_array(pickles::array_of({1, 1}, eight), {"shape (1, 1)", "8 bytes", "expected 4"});
  expect_no_array(pickles::array_of({INT32_MAX, INT32_MAX, INT32_MAX}, eight), {"8 bytes", "more than 2^63"});
  expect_no_array(pickles::array_of({-2}, eight), {"size of -2"});
  expect_no_array(pickles::array_of({2}, eight, {"O8"}), {"'<O8'", "weft reads"});
  expect_no_array(pickles::array_of({2}, eight, {"f4", "?"}), {"'?f4'", "weft reads"});
  expect_no_array(pickles::array_of({2}, eight, {"f4", "<", "N"}), {"order", "None", "a boolean"});
  expect_no_array(pickles::array_of({2}, "]"), {"content", "a list", "a string"});
  expect_no_array(
      pickles::global("numpy.core.multiarray", "_reconstruct") + "(" + pickles::global("numpy", "ndarray") + "tR",
      {"state", "None", "a tuple"});
  expect_no_array("]", {"a list", "numpy array"});
  expect_no_array(pickles::dtype({}), {"an object", "numpy array"});
}

}  // namespace
}  // namespace weft::test
