#include "graph/dataset/pickled_arrays.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/check.hpp"
#include "graph/io/format.hpp"
#include "graph/io/npy_items.hpp"

namespace weft::io {
namespace {

void expect_kind(PickleValue value, PickleKind kind, std::string_view what) {
  WEFT_CHECK(value.kind == kind, invalid_file, "{} is {}: expected {}", what, name(value.kind), name(kind));
}

/// dtype('f4', 0, 1) and its state (3, '<', ...): the type and its byte order.
void read_type(const Pickle& pickle, PickleValue dtype, NpyHeader& header) {
  WEFT_CHECK(pickle.is_object(dtype, PickleGlobal::dtype), invalid_file, "the type of an array is {}: expected a dtype",
             name(dtype.kind));
  const auto arguments = pickle.items(pickle.arguments(dtype));
  WEFT_CHECK(!arguments.empty() && arguments[0].kind == PickleKind::string, invalid_file,
             "the dtype of an array has no name");
  const std::string_view type = pickle.string(arguments[0]);
  char order = '|';
  if (const PickleValue state = pickle.state(dtype); state.kind == PickleKind::tuple) {
    const auto fields = pickle.items(state);
    WEFT_CHECK(fields.size() >= 2 && fields[1].kind == PickleKind::string && pickle.string(fields[1]).size() == 1,
               invalid_file, "the dtype of an array does not say its byte order");
    order = pickle.string(fields[1]).front();
  }
  constexpr std::string_view known[] = {"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"};
  header.descr = order + std::string(type);
  WEFT_CHECK(std::ranges::find(known, type) != std::end(known) &&
                 std::string_view("<>|=").find(order) != std::string_view::npos,
             invalid_file, "the array's type is {}: weft reads f2, f4, f8, i1 to i8, u1 to u8 and booleans",
             in_quotes(header.descr));
  header.kind = static_cast<NpyKind>(type[0]);
  header.item_bytes = type[1] - '0';
  header.swapped = order == '>';
}

void read_shape(const Pickle& pickle, PickleValue shape, NpyHeader& header) {
  expect_kind(shape, PickleKind::tuple, "the shape of an array");
  WEFT_CHECK(pickle.items(shape).size() <= 32, invalid_file, "an array has {} dimensions", pickle.items(shape).size());
  for (const PickleValue size : pickle.items(shape)) {
    expect_kind(size, PickleKind::integer, "a size in the shape of an array");
    WEFT_CHECK(size.number >= 0, invalid_file, "an array has a size of {}", size.number);
    header.shape.push_back(size.number);
  }
}

PickleValue attribute(const Pickle& pickle, PickleValue dict, std::string_view key) {
  const auto items = pickle.items(dict);
  for (std::size_t i = 0; i + 1 < items.size(); i += 2)
    if (items[i].kind == PickleKind::string && pickle.string(items[i]) == key) return items[i + 1];
  fail(ErrorCode::invalid_file, "the csr_matrix lacks its '{}'", key);
}

}  // namespace

PickledArray pickled_array(const Pickle& pickle, PickleValue value) {
  WEFT_CHECK(pickle.is_object(value, PickleGlobal::ndarray), invalid_file, "found {}: expected a numpy array",
             name(value.kind));
  const PickleValue state = pickle.state(value);
  expect_kind(state, PickleKind::tuple, "the state of an array");
  const auto fields = pickle.items(state);  // version, shape, dtype, Fortran's order, bytes
  WEFT_CHECK(fields.size() == 5, invalid_file, "the state of an array has {} fields: expected 5", fields.size());
  PickledArray array;
  read_shape(pickle, fields[1], array.header);
  read_type(pickle, fields[2], array.header);
  WEFT_CHECK(fields[3].kind == PickleKind::boolean || fields[3].kind == PickleKind::integer, invalid_file,
             "the order of an array is {}: expected a boolean", name(fields[3].kind));
  array.header.by_columns = fields[3].number != 0 && array.header.shape.size() == 2;
  expect_kind(fields[4], PickleKind::string, "the content of an array");
  array.data = pickle.string(fields[4]);
  NpyHeader& header = array.header;
  bool overflow = false;
  for (const std::int64_t size : header.shape) overflow |= __builtin_mul_overflow(header.count, size, &header.count);
  overflow |= __builtin_mul_overflow(header.count, header.item_bytes, &header.data_bytes);
  WEFT_CHECK(!overflow && header.data_bytes == static_cast<std::int64_t>(array.data.size()), invalid_file,
             "an array of shape ({}) and type '{}' has {} bytes: expected {}", fmt::join(header.shape, ", "),
             header.descr, array.data.size(),
             overflow ? std::string("more than 2^63") : std::to_string(header.data_bytes));
  return array;
}

template <class To>
Buffer<To> PickledArray::read(std::string_view what, const Progress& progress) const {
  Buffer<To> values(static_cast<std::size_t>(header.count), what);
  MemoryItems stream{std::as_bytes(std::span(data))};
  read_npy_items(header, stream, values.data(), progress);
  return values;
}
template Buffer<std::int64_t> PickledArray::read(std::string_view, const Progress&) const;
template Buffer<std::int32_t> PickledArray::read(std::string_view, const Progress&) const;
template Buffer<float> PickledArray::read(std::string_view, const Progress&) const;

CompressedRows pickled_matrix(const Pickle& pickle, PickleValue value, const Progress& progress) {
  WEFT_CHECK(pickle.is_object(value, PickleGlobal::csr_matrix), invalid_file,
             "found {}: expected a csr_matrix of scipy", name(value.kind));
  const PickleValue state = pickle.state(value);
  expect_kind(state, PickleKind::dict, "the state of the csr_matrix");
  const PickleValue shape = attribute(pickle, state, "_shape");
  expect_kind(shape, PickleKind::tuple, "the csr_matrix's '_shape'");
  const auto sizes = pickle.items(shape);
  WEFT_CHECK(sizes.size() == 2 && sizes[0].kind == PickleKind::integer && sizes[1].kind == PickleKind::integer,
             invalid_file, "the csr_matrix's '_shape' has {} elements: expected 2 integers, rows and columns",
             sizes.size());
  CompressedRows m;
  m.rows = sizes[0].number;
  m.cols = sizes[1].number;
  check_counts(m.rows, m.cols, 0);
  const auto array = [&](std::string_view key, bool integers) {
    return naming_array(key, [&] {
      PickledArray found = pickled_array(pickle, attribute(pickle, state, key));
      WEFT_CHECK(found.header.shape.size() == 1, invalid_file, "it has {} dimensions: expected 1",
                 found.header.shape.size());
      WEFT_CHECK(!integers || found.header.is_integer(), invalid_file, "its type is '{}': expected integers",
                 found.header.descr);
      return found;
    });
  };
  const PickledArray offsets = array("indptr", true), columns = array("indices", true), values = array("data", false);
  const std::int64_t entries = columns.header.count;
  WEFT_CHECK(offsets.header.count == m.rows + 1, invalid_file,
             "array 'indptr' has {} elements: expected {}, one more than there are rows", offsets.header.count,
             m.rows + 1);
  WEFT_CHECK(values.header.count == entries, invalid_file, "array 'data' has {} elements: expected {}, as 'indices'",
             values.header.count, entries);
  m.offsets = offsets.read<std::int64_t>("offsets of features", progress);
  m.columns = columns.read<std::int32_t>("columns of features", progress);
  m.values = values.read<float>("values of features", progress);
  check(m, "");
  return m;
}

}  // namespace weft::io
