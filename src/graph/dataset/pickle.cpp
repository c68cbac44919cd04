#include "graph/dataset/pickle.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "core/check.hpp"
#include "graph/dataset/pickle_strings.hpp"
#include "graph/io/byte_order.hpp"
#include "graph/io/format.hpp"

namespace weft::io {
namespace {

constexpr std::int32_t deepest = 1000;  // real ones reach 6

struct NamedGlobal {
  std::string_view module, name;
  PickleGlobal global;
};
constexpr NamedGlobal globals[] = {
    {"scipy.sparse.csr", "csr_matrix", PickleGlobal::csr_matrix},
    {"scipy.sparse._csr", "csr_matrix", PickleGlobal::csr_matrix},
    {"scipy.sparse.csr_matrix", "csr_matrix", PickleGlobal::csr_matrix},
    {"numpy", "ndarray", PickleGlobal::ndarray},
    {"numpy", "dtype", PickleGlobal::dtype},
    {"numpy.core.multiarray", "_reconstruct", PickleGlobal::reconstruct_array},
    {"numpy._core.multiarray", "_reconstruct", PickleGlobal::reconstruct_array},
    {"collections", "defaultdict", PickleGlobal::defaultdict},
    {"__builtin__", "list", PickleGlobal::list},
    {"builtins", "list", PickleGlobal::list},
    {"__builtin__", "object", PickleGlobal::object},
    {"builtins", "object", PickleGlobal::object},
    {"copy_reg", "_reconstructor", PickleGlobal::reconstruct_object},
    {"copyreg", "_reconstructor", PickleGlobal::reconstruct_object},
    {"_codecs", "encode", PickleGlobal::encode},
};

PickleValue integer(std::int64_t value) { return {PickleKind::integer, value}; }
PickleValue boolean(bool value) { return {PickleKind::boolean, value ? 1 : 0}; }
PickleValue real(double value) { return {PickleKind::real, std::bit_cast<std::int64_t>(value)}; }

bool is(PickleValue value, PickleGlobal global) { return value.kind == PickleKind::global && value.global() == global; }

}  // namespace

std::string_view name(PickleKind kind) {
  switch (kind) {
    case PickleKind::none: return "None";
    case PickleKind::boolean: return "a boolean";
    case PickleKind::integer: return "an integer";
    case PickleKind::real: return "a float";
    case PickleKind::string: return "a string";
    case PickleKind::tuple: return "a tuple";
    case PickleKind::list: return "a list";
    case PickleKind::dict: return "a dict";
    case PickleKind::global: return "a name";
    case PickleKind::object: return "an object";
  }
  return "something else";
}

class PickleParser {
 public:
  PickleParser(std::string_view bytes, Pickle& to) : bytes_(bytes), to_(to) {}
  void parse();

 private:
  struct Opcode {
    unsigned char code;
    std::string_view name;
    void (*run)(PickleParser& parser);
  };
  static const Opcode known[];

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorCode::invalid_file, "byte {}, opcode {}: {}", start_, name_,
         fmt::format(format, std::forward<Args>(args)...));
  }

  std::string_view take(std::uint64_t count) {
    const std::size_t left = bytes_.size() - at_;
    if (count > left) refuse("{} bytes must follow, but the file ends after {}", count, left);
    at_ += static_cast<std::size_t>(count);
    return bytes_.substr(at_ - static_cast<std::size_t>(count), static_cast<std::size_t>(count));
  }
  template <class T>
  T take_number() {
    return load<T>(take(sizeof(T)).data());
  }
  std::string_view take_line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) refuse("a line must follow, but the file ends before it does");
    const std::string_view line = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return line;
  }
  template <class T>
  T number_of(std::string_view digits) const {
    T value{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size())
      refuse("found {}: expected a number of at most 64 bits", in_quotes(digits));
    return value;
  }
  std::int64_t take_long(std::size_t count);

  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  void push(PickleValue value) { stack_.push_back(value); }
  PickleValue& top() {
    if (stack_.size() <= floor()) refuse("it needs a value, but none stands before it");
    return stack_.back();
  }
  PickleValue pop() {
    const PickleValue value = top();
    stack_.pop_back();
    return value;
  }
  void mark() {
    if (marks_.size() >= static_cast<std::size_t>(deepest))
      refuse("it nests deeper than {} levels, the most weft follows", deepest);
    marks_.push_back(stack_.size());
  }
  std::size_t pop_mark() {
    if (marks_.empty()) refuse("it needs a MARK, but none stands before it");
    const std::size_t place = marks_.back();
    marks_.pop_back();
    return place;
  }

  Pickle::Node& node_of(PickleValue value) { return to_.nodes_[static_cast<std::size_t>(value.number)]; }
  void add(PickleValue container, PickleValue value);
  PickleValue make(PickleKind kind, std::span<const PickleValue> items);
  PickleValue make_object(PickleGlobal of, PickleValue arguments);
  void make_of_marked(PickleKind kind);
  void make_tuple(std::size_t count);
  PickleValue expect(PickleValue value, PickleKind kind) const;
  void add_marked(PickleKind kind);
  void set_item();

  void put(std::uint64_t place);
  void get(std::uint64_t place);

  void push_string(std::string_view bytes);
  void push_decoded(const DecodedString& decoded);

  void push_global();
  void reduce();
  void new_object();
  void build();

  std::string_view bytes_;
  Pickle& to_;
  std::size_t at_ = 0, start_ = 0;  // start_: of the opcode
  std::string_view name_;
  std::vector<PickleValue> stack_, memo_;
  std::vector<bool> kept_;  // which places of the memo hold something
  std::vector<std::size_t> marks_;
};

// What is not here is refused. Sets and byte arrays, which later protocols have, do not occur in such files; INST, OBJ
// and the extension registry call what they name.
const PickleParser::Opcode PickleParser::known[] = {
    {0x80, "PROTO",
     [](PickleParser& p) {
       const auto protocol = p.take_number<std::uint8_t>();
       if (protocol > 2) p.refuse("the pickle is of protocol {}: expected 0, 1 or 2", protocol);
     }},
    {'N', "NONE", [](PickleParser& p) { p.push({}); }},
    {0x88, "NEWTRUE", [](PickleParser& p) { p.push(boolean(true)); }},
    {0x89, "NEWFALSE", [](PickleParser& p) { p.push(boolean(false)); }},
    {'I', "INT",
     [](PickleParser& p) {
       const std::string_view line = p.take_line();
       p.push(line == "00" || line == "01" ? boolean(line == "01") : integer(p.number_of<std::int64_t>(line)));
     }},
    {'J', "BININT", [](PickleParser& p) { p.push(integer(p.take_number<std::int32_t>())); }},
    {'K', "BININT1", [](PickleParser& p) { p.push(integer(p.take_number<std::uint8_t>())); }},
    {'M', "BININT2", [](PickleParser& p) { p.push(integer(p.take_number<std::uint16_t>())); }},
    {'L', "LONG",
     [](PickleParser& p) {
       std::string_view line = p.take_line();
       if (line.ends_with('L')) line.remove_suffix(1);
       p.push(integer(p.number_of<std::int64_t>(line)));
     }},
    {0x8a, "LONG1", [](PickleParser& p) { p.push(integer(p.take_long(p.take_number<std::uint8_t>()))); }},
    {'F', "FLOAT", [](PickleParser& p) { p.push(real(p.number_of<double>(p.take_line()))); }},
    {'G', "BINFLOAT", [](PickleParser& p) { p.push(real(load_swapped<double>(p.take(8).data()))); }},
    {'S', "STRING", [](PickleParser& p) { p.push_decoded(decode_quoted(p.take_line())); }},
    {'T', "BINSTRING",
     [](PickleParser& p) {
       const auto length = p.take_number<std::int32_t>();
       if (length < 0) p.refuse("the string has a length of {}", length);
       p.push_string(p.take(static_cast<std::uint64_t>(length)));
     }},
    {'U', "SHORT_BINSTRING", [](PickleParser& p) { p.push_string(p.take(p.take_number<std::uint8_t>())); }},
    {'V', "UNICODE", [](PickleParser& p) { p.push_decoded(decode_escaped(p.take_line())); }},
    {'X', "BINUNICODE", [](PickleParser& p) { p.push_decoded(decode_utf8(p.take(p.take_number<std::uint32_t>()))); }},
    {'(', "MARK", [](PickleParser& p) { p.mark(); }},
    {')', "EMPTY_TUPLE", [](PickleParser& p) { p.make_tuple(0); }},
    {0x85, "TUPLE1", [](PickleParser& p) { p.make_tuple(1); }},
    {0x86, "TUPLE2", [](PickleParser& p) { p.make_tuple(2); }},
    {0x87, "TUPLE3", [](PickleParser& p) { p.make_tuple(3); }},
    {'t', "TUPLE", [](PickleParser& p) { p.make_of_marked(PickleKind::tuple); }},
    {']', "EMPTY_LIST", [](PickleParser& p) { p.push(p.make(PickleKind::list, {})); }},
    {'l', "LIST", [](PickleParser& p) { p.make_of_marked(PickleKind::list); }},
    {'a', "APPEND",
     [](PickleParser& p) {
       const PickleValue value = p.pop();
       p.add(p.expect(p.top(), PickleKind::list), value);
     }},
    {'e', "APPENDS", [](PickleParser& p) { p.add_marked(PickleKind::list); }},
    {'}', "EMPTY_DICT", [](PickleParser& p) { p.push(p.make(PickleKind::dict, {})); }},
    {'d', "DICT", [](PickleParser& p) { p.make_of_marked(PickleKind::dict); }},
    {'s', "SETITEM", [](PickleParser& p) { p.set_item(); }},
    {'u', "SETITEMS", [](PickleParser& p) { p.add_marked(PickleKind::dict); }},
    {'p', "PUT", [](PickleParser& p) { p.put(p.number_of<std::uint64_t>(p.take_line())); }},
    {'q', "BINPUT", [](PickleParser& p) { p.put(p.take_number<std::uint8_t>()); }},
    {'r', "LONG_BINPUT", [](PickleParser& p) { p.put(p.take_number<std::uint32_t>()); }},
    {'g', "GET", [](PickleParser& p) { p.get(p.number_of<std::uint64_t>(p.take_line())); }},
    {'h', "BINGET", [](PickleParser& p) { p.get(p.take_number<std::uint8_t>()); }},
    {'j', "LONG_BINGET", [](PickleParser& p) { p.get(p.take_number<std::uint32_t>()); }},
    {'c', "GLOBAL", [](PickleParser& p) { p.push_global(); }},
    {'R', "REDUCE", [](PickleParser& p) { p.reduce(); }},
    {0x81, "NEWOBJ", [](PickleParser& p) { p.new_object(); }},
    {'b', "BUILD", [](PickleParser& p) { p.build(); }},
};

void PickleParser::parse() {
  std::array<const Opcode*, 256> by_code{};
  for (const Opcode& opcode : known) by_code[opcode.code] = &opcode;
  for (;;) {
    start_ = at_;
    WEFT_CHECK(at_ < bytes_.size(), invalid_file, "the pickle ends after {} bytes without a STOP", at_);
    const auto code = static_cast<unsigned char>(bytes_[at_++]);
    if (code == '.') break;
    const Opcode* const opcode = by_code[code];
    WEFT_CHECK(opcode != nullptr, invalid_file, "byte {} is the opcode {}, which weft does not read in a pickle",
               start_, in_quotes(bytes_.substr(start_, 1)));
    name_ = opcode->name;
    opcode->run(*this);
  }
  name_ = "STOP";
  if (!marks_.empty() || stack_.size() != 1)
    refuse("{} values and {} MARKs are left: expected one value", stack_.size(), marks_.size());
  if (at_ != bytes_.size()) refuse("{} bytes follow the end", bytes_.size() - at_);
  to_.root_ = stack_.front();
}

std::int64_t PickleParser::take_long(std::size_t count) {
  if (count > 8) refuse("the integer has {} bytes: expected at most 8", count);
  const std::string_view bytes = take(count);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  const bool negative = count > 0 && static_cast<signed char>(bytes.back()) < 0;
  if (negative && count < 8) value |= ~std::uint64_t{0} << (8 * count);
  return static_cast<std::int64_t>(value);
}

void PickleParser::add(PickleValue container, PickleValue value) {
  std::int32_t depth = 1;
  switch (value.kind) {
    case PickleKind::tuple:
    case PickleKind::list:
    case PickleKind::dict:
    case PickleKind::object: depth = node_of(value).depth + 1; break;
    default: break;
  }
  if (depth > deepest) refuse("it nests deeper than {} levels, the most weft follows", deepest);
  Pickle::Node& node = node_of(container);
  node.depth = std::max(node.depth, depth);
  node.items.push_back(value);
}

PickleValue PickleParser::make(PickleKind kind, std::span<const PickleValue> items) {
  // What real files spend on one is more; an empty list of one byte must not cost fifty here.
  if (to_.nodes_.size() > 4096 + bytes_.size() / 4) refuse("{} bytes hold too many containers", bytes_.size());
  const PickleValue made{kind, static_cast<std::int64_t>(to_.nodes_.size())};
  to_.nodes_.emplace_back();
  to_.nodes_.back().items.reserve(items.size());
  for (const PickleValue item : items) add(made, item);
  return made;
}

PickleValue PickleParser::make_object(PickleGlobal of, PickleValue arguments) {
  const PickleValue made = make(PickleKind::object, std::array{arguments, PickleValue{}});
  node_of(made).of = of;
  return made;
}

void PickleParser::make_of_marked(PickleKind kind) {
  const std::size_t from = pop_mark();
  const std::span<const PickleValue> items = std::span(stack_).subspan(from);
  if (kind == PickleKind::dict && items.size() % 2 != 0) refuse("the last key of the dict has no value");
  const PickleValue made = make(kind, items);
  stack_.resize(from);
  push(made);
}

void PickleParser::make_tuple(std::size_t count) {
  if (stack_.size() - floor() < count)
    refuse("it needs {} values, but {} stand before it", count, stack_.size() - floor());
  const PickleValue made = make(PickleKind::tuple, std::span(stack_).last(count));
  stack_.resize(stack_.size() - count);
  push(made);
}

PickleValue PickleParser::expect(PickleValue value, PickleKind kind) const {
  if (value.kind != kind) refuse("found {}: expected {}", name(value.kind), name(kind));
  return value;
}

void PickleParser::add_marked(PickleKind kind) {
  const std::size_t from = pop_mark();
  if (from <= floor()) refuse("it needs {}, but nothing stands before the MARK", name(kind));
  const std::span<const PickleValue> values = std::span(stack_).subspan(from);
  if (kind == PickleKind::dict && values.size() % 2 != 0) refuse("the last key of the dict has no value");
  const PickleValue container = expect(stack_[from - 1], kind);
  for (const PickleValue value : values) add(container, value);
  stack_.resize(from);
}

void PickleParser::set_item() {
  const PickleValue value = pop(), key = pop();
  const PickleValue dict = expect(top(), PickleKind::dict);
  add(dict, key);
  add(dict, value);
}

void PickleParser::put(std::uint64_t place) {
  // Places are counted up by one a value, and a value with its place takes some bytes; a few may be left out.
  if (place > 256 + bytes_.size() / 4)
    refuse("place {} of the memo is beyond what {} bytes can fill", place, bytes_.size());
  const auto at = static_cast<std::size_t>(place);
  if (at >= memo_.size()) {
    memo_.resize(at + 1);
    kept_.resize(at + 1);
  }
  memo_[at] = top();
  kept_[at] = true;
}

void PickleParser::get(std::uint64_t place) {
  if (place >= memo_.size() || !kept_[static_cast<std::size_t>(place)]) refuse("place {} of the memo is empty", place);
  push(memo_[static_cast<std::size_t>(place)]);
}

void PickleParser::push_string(std::string_view bytes) {
  push({PickleKind::string, static_cast<std::int64_t>(to_.strings_.size())});
  to_.strings_.push_back(bytes);
}

void PickleParser::push_decoded(const DecodedString& decoded) {
  if (!decoded.fault.empty()) refuse("{}", decoded.fault);
  push_string(decoded.as_it_is ? decoded.view : to_.unescaped_.emplace_back(decoded.bytes));
}

void PickleParser::push_global() {
  const std::string_view module = take_line(), called = take_line();
  for (const NamedGlobal& each : globals)
    if (each.module == module && each.name == called)
      return push({PickleKind::global, static_cast<std::int64_t>(each.global)});
  refuse("it names {} of {}, which weft does not accept in a pickle", in_quotes(called), in_quotes(module));
}

/// Where Python would call what is named, the arguments say what it would make.
void PickleParser::reduce() {
  const PickleValue arguments = expect(pop(), PickleKind::tuple);
  const PickleGlobal called = expect(pop(), PickleKind::global).global();
  const std::vector<PickleValue>& given = node_of(arguments).items;
  const auto starts_with = [&](PickleGlobal first) { return !given.empty() && is(given[0], first); };
  switch (called) {
    case PickleGlobal::dtype: return push(make_object(PickleGlobal::dtype, arguments));
    case PickleGlobal::reconstruct_array:
      if (!starts_with(PickleGlobal::ndarray)) refuse("_reconstruct is not of an ndarray");
      return push(make_object(PickleGlobal::ndarray, arguments));
    case PickleGlobal::reconstruct_object:
      if (!starts_with(PickleGlobal::csr_matrix)) refuse("_reconstructor is not of a csr_matrix");
      return push(make_object(PickleGlobal::csr_matrix, arguments));
    case PickleGlobal::defaultdict:
      if (!given.empty() && !starts_with(PickleGlobal::list)) refuse("the defaultdict is not of lists");
      return push(make(PickleKind::dict, {}));
    case PickleGlobal::encode: {
      const bool latin1 = given.size() == 2 && given[1].kind == PickleKind::string &&
                          (to_.string(given[1]) == "latin1" || to_.string(given[1]) == "latin-1");
      if (!latin1) refuse("bytes are encoded in another way than as latin1");
      return push(expect(given[0], PickleKind::string));  // which are Latin-1 already
    }
    default: refuse("it calls something that is no function weft knows");
  }
}

void PickleParser::new_object() {
  const PickleValue arguments = expect(pop(), PickleKind::tuple);
  const PickleGlobal of = expect(pop(), PickleKind::global).global();
  if (of != PickleGlobal::csr_matrix) refuse("it makes an object of another class than csr_matrix");
  push(make_object(of, arguments));
}

void PickleParser::build() {
  const PickleValue state = pop(), object = expect(top(), PickleKind::object);
  add(object, state);  // with its depth counted, to the end
  std::vector<PickleValue>& items = node_of(object).items;
  items[1] = state;
  items.resize(2);
}

Pickle::Pickle(std::string_view bytes) { PickleParser(bytes, *this).parse(); }

std::string_view Pickle::string(PickleValue value) const { return strings_[static_cast<std::size_t>(value.number)]; }
std::span<const PickleValue> Pickle::items(PickleValue value) const {
  return nodes_[static_cast<std::size_t>(value.number)].items;
}
PickleGlobal Pickle::class_of(PickleValue object) const { return nodes_[static_cast<std::size_t>(object.number)].of; }
PickleValue Pickle::arguments(PickleValue object) const { return items(object)[0]; }
PickleValue Pickle::state(PickleValue object) const { return items(object)[1]; }

}  // namespace weft::io
