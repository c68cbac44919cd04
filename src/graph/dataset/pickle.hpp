// Python's pickles of protocol 0 to 2, read as data: opcodes outside a short list, and names outside another, end in an
// Error. Nothing in a pickle is ever executed.
#pragma once

#include <bit>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::io {

enum class PickleKind : std::uint8_t { none, boolean, integer, real, string, tuple, list, dict, global, object };
std::string_view name(PickleKind kind);

/// All that a pickle may refer to by name.
enum class PickleGlobal : std::uint8_t {
  csr_matrix,
  ndarray,
  dtype,
  defaultdict,
  list,
  object,
  reconstruct_array,   // numpy's _reconstruct
  reconstruct_object,  // copy_reg's _reconstructor
  encode               // of _codecs, by which Python 3 writes bytes
};

/// Small, so that a list of a million numbers stays small; a Pickle knows what is behind those that are not numbers.
struct PickleValue {
  PickleKind kind = PickleKind::none;
  std::int64_t number = 0;  // an integer, a boolean, the bits of a real, a PickleGlobal, or a place inside the Pickle

  double real() const { return std::bit_cast<double>(number); }
  PickleGlobal global() const { return static_cast<PickleGlobal>(number); }
};

/// Values refer to each other by place, so that neither lists inside lists nor lists inside themselves can exhaust the
/// stack.
class Pickle {
 public:
  /// An Error names the byte, the opcode and what is wrong with it. `bytes` must outlive the Pickle.
  explicit Pickle(std::string_view bytes);
  Pickle(const Pickle&) = delete;
  Pickle& operator=(const Pickle&) = delete;

  PickleValue root() const { return root_; }
  /// A string's bytes; text as Latin-1, as which Python 3 reads and writes the strings of Python 2.
  std::string_view string(PickleValue value) const;
  /// Of a tuple or list; of a dict its keys and values by turns, as often as they are listed.
  std::span<const PickleValue> items(PickleValue value) const;
  /// Of an object: a csr_matrix, an ndarray or a dtype.
  PickleGlobal class_of(PickleValue object) const;
  PickleValue arguments(PickleValue object) const;
  PickleValue state(PickleValue object) const;  // none until something was built from one

  bool is_object(PickleValue value, PickleGlobal of) const {
    return value.kind == PickleKind::object && class_of(value) == of;
  }

 private:
  friend class PickleParser;
  struct Node {
    std::vector<PickleValue> items;  // of an object its arguments and its state
    std::int32_t depth = 1;          // of the containers inside, this one counted
    PickleGlobal of = PickleGlobal::object;
  };

  PickleValue root_;
  std::vector<std::string_view> strings_;
  std::deque<std::string> unescaped_;  // those that do not stand in the file as they are
  std::vector<Node> nodes_;
};

}  // namespace weft::io
