#include "nn/safetensors.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "core/check.hpp"
#include "core/memory.hpp"
#include "core/names.hpp"
#include "graph/io/atomic_writer.hpp"
#include "graph/io/byte_order.hpp"
#include "graph/io/checksum.hpp"
#include "graph/io/folder.hpp"
#include "graph/io/format.hpp"
#include "graph/io/naming.hpp"
#include "graph/io/source.hpp"

namespace weft::nn {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t length_bytes = sizeof(std::uint64_t);
constexpr std::size_t longest_header = 100'000'000;  // the limit of safetensors itself
constexpr std::size_t alignment = 8;
constexpr std::string_view metadata_key = "__metadata__";
constexpr std::string_view checksum_key = "weft.checksum", kind_key = "weft.checksum_kind", kind = "crc32";
// What a header with a checksum starts with, up to the digits.
constexpr std::string_view sealed_start = R"({"__metadata__":{"weft.checksum":")";
constexpr std::string_view no_digits = "00000000";

constexpr NameTable<Dtype, 6> dtype_names{{{Dtype::f32, "F32"},
                                           {Dtype::f16, "F16"},
                                           {Dtype::bf16, "BF16"},
                                           {Dtype::f64, "F64"},
                                           {Dtype::i32, "I32"},
                                           {Dtype::i64, "I64"}}};

/// f() with the file's name in front of whatever goes wrong.
template <class F>
auto naming_file(const std::string& path, F&& f) {
  WEFT_CHECK(!path.empty(), invalid_argument, "the path is empty: expected the name of a safetensors file");
  return io::naming_part(path, [&] { return or_out_of_memory("the file's tensors", f); });
}

/// `head` is all that stands before the data.
std::string checksum_digits(std::string head, const std::vector<Bytes>& data) {
  head.replace(length_bytes + sealed_start.size(), no_digits.size(), no_digits);
  for (const Bytes& tensor : data) head += fmt::format("{:08x}", io::checksum(tensor));
  return fmt::format("{:08x}", io::checksum(std::as_bytes(std::span(head))));
}

// ---- Writing ---------------------------------------------------------------------------------

std::string json_string(std::string_view text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    fail(ErrorCode::invalid_argument, "the text {} is not UTF-8: names and metadata have to be", io::quoted(text));
  }
}

void check_tensor(const NamedTensor& tensor) {
  const std::string title = io::quoted(tensor.name);
  const Tensor& value = tensor.value;
  WEFT_CHECK(tensor.name != metadata_key, invalid_argument, "a tensor is named {}: the layout keeps it for metadata",
             title);
  WEFT_CHECK(value, invalid_argument, "tensor {} has no value: expected one", title);
  WEFT_CHECK(value.device().kind == DeviceKind::cpu, invalid_argument,
             "tensor {} is on {}: copy it to the host before writing it", title, to_string(value.device()));
  const Shape& shape = value.shape();
  WEFT_CHECK(shape.rank >= 1 && shape.rank <= 3 && (shape.rank > 1 || shape.width == 1) &&
                 (shape.rank > 2 || shape.heads == 1),
             invalid_argument, "tensor {} has the rank {} with {} x {} values a row", title, shape.rank, shape.heads,
             shape.width);
}

std::vector<Bytes> data_of(const TensorFile& file) {
  std::set<std::string_view> names;
  std::vector<Bytes> data;
  for (const NamedTensor& tensor : file.tensors) {
    check_tensor(tensor);
    WEFT_CHECK(names.insert(tensor.name).second, invalid_argument, "two tensors are named {}: expected one",
               io::quoted(tensor.name));
    data.emplace_back(static_cast<const std::byte*>(tensor.value.view().data), tensor.value.bytes());
  }
  return data;
}

/// The header's length and the header, without its checksum yet.
std::string head_of(const TensorFile& file) {
  std::string header(sealed_start);
  header += fmt::format(R"({}","{}":"{}")", no_digits, kind_key, kind);
  for (const auto& [key, value] : file.metadata) {
    WEFT_CHECK(key != checksum_key && key != kind_key, invalid_argument,
               "the metadata has the key '{}': writing adds it, leave it out", key);
    header += fmt::format(",{}:{}", json_string(key), json_string(value));
  }
  header += '}';
  std::size_t end = 0;
  for (const auto& [name, value] : file.tensors) {
    const std::size_t begin = std::exchange(end, end + value.bytes());
    header += fmt::format(R"(,{}:{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", json_string(name),
                          name_in(dtype_names, value.dtype()), to_string(value.shape()), begin, end);
  }
  header += '}';
  header.append((alignment - header.size() % alignment) % alignment, ' ');
  WEFT_CHECK(header.size() <= longest_header, invalid_argument,
             "names and metadata take {} bytes: expected at most {}; put fewer tensors in one file", header.size(),
             longest_header);
  const std::uint64_t length = header.size();
  std::string head(length_bytes, '\0');
  std::memcpy(head.data(), &length, length_bytes);
  return head += header;
}

void write(const std::string& path, const TensorFile& file) {
  const std::vector<Bytes> data = data_of(file);
  std::string head = head_of(file);
  head.replace(length_bytes + sealed_start.size(), no_digits.size(), checksum_digits(head, data));
  io::AtomicWriter out(path);
  out.write(head);
  for (const Bytes& tensor : data) out.write(tensor);
  out.commit();
}

// ---- Reading ---------------------------------------------------------------------------------

/// What the header says of a tensor: the bytes are as many as its shape takes.
struct Entry {
  std::string name;
  Dtype dtype;
  Shape shape;
  std::int64_t begin, end;  // in the data
};

/// A shape or data_offsets as they are read.
struct Numbers {
  std::array<std::int64_t, 3> values{};
  std::size_t count = 0;
};

/// Takes the header piece by piece and refuses the first that has no place there, so nothing nests deeper than it may.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::map<std::string, std::string> metadata;
  std::vector<Entry> entries;  // as the header orders them

  explicit HeaderReader(std::size_t bytes) : bytes_(bytes) {}

  bool null() override { refuse("null"); }
  bool boolean(bool value) override { refuse(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override {  // only those that start with a minus
    refuse(value == 0 ? "-0" : std::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (at_ != At::numbers || !std::in_range<std::int64_t>(value)) refuse(std::to_string(value));
    const bool of_shape = key_ == "shape";
    Numbers& numbers = of_shape ? *shape_ : *offsets_;
    WEFT_CHECK(!of_shape || numbers.count < 3, invalid_file,
               "tensor {} has more than 3 dimensions: weft's have 1 to 3; reshape it before saving it",
               io::quoted(name_));
    WEFT_CHECK(of_shape || numbers.count < 2, invalid_file,
               "the data_offsets of tensor {} hold more than 2 numbers: expected 2", io::quoted(name_));
    numbers.values[numbers.count++] = static_cast<std::int64_t>(value);
    return true;
  }
  bool number_float(number_float_t, const string_t& written) override { refuse(io::quoted(written)); }
  bool string(string_t& value) override {
    if (at_ == At::metadata) {
      metadata.emplace(key_, value);
    } else if (at_ == At::tensor && key_ == "dtype") {
      const auto* known = std::ranges::find(dtype_names, value, [](const auto& pair) { return pair.second; });
      WEFT_CHECK(known != dtype_names.end(), invalid_file,
                 "tensor {} has the dtype {}: expected F32, F16, BF16, F64, I32 or I64; convert it before saving it",
                 io::quoted(name_), io::quoted(value));
      dtype_ = known->first;
    } else {
      refuse("a string");
    }
    return true;
  }
  bool binary(binary_t&) override { return false; }  // of other notations than text
  bool start_object(std::size_t) override {
    switch (at_) {
      case At::start: at_ = At::header; return true;
      case At::header: at_ = name_ == metadata_key ? At::metadata : At::tensor; return true;
      default: refuse("an object");
    }
  }
  bool key(string_t& name) override {
    if (at_ == At::header) {
      WEFT_CHECK(names_.insert(name).second, invalid_file, "the header has the name {} twice: expected one",
                 io::quoted(name));
      name_ = name;
    } else if (at_ == At::metadata) {
      WEFT_CHECK(!metadata.contains(name), invalid_file, "the metadata has the key {} twice: expected one",
                 io::quoted(name));
      key_ = name;
    } else {
      const bool known = name == "dtype" || name == "shape" || name == "data_offsets";
      WEFT_CHECK(known, invalid_file, "tensor {} has the key {}: expected dtype, shape and data_offsets",
                 io::quoted(name_), io::quoted(name));
      const bool twice = name == "dtype" ? dtype_.has_value() : (name == "shape" ? shape_ : offsets_).has_value();
      WEFT_CHECK(!twice, invalid_file, "tensor {} has the key {} twice: expected one", io::quoted(name_), name);
      key_ = name;
    }
    return true;
  }
  bool end_object() override {
    if (at_ == At::tensor) finish_tensor();
    at_ = at_ == At::header ? At::end : At::header;
    return true;
  }
  bool start_array(std::size_t) override {
    if (at_ != At::tensor || key_ == "dtype") refuse("a list");
    (key_ == "shape" ? shape_ : offsets_).emplace();
    at_ = At::numbers;
    return true;
  }
  bool end_array() override {
    at_ = At::tensor;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& last, const nlohmann::json::exception&) override {
    WEFT_CHECK(position <= bytes_, invalid_file, "the header ends within its JSON: its length of {} bytes is wrong",
               bytes_);
    fail(ErrorCode::invalid_file, "byte {}: found {}, which is no JSON in UTF-8 here", length_bytes + position,
         io::quoted(last));
  }

 private:
  enum class At { start, header, metadata, tensor, numbers, end };

  [[noreturn]] void refuse(std::string_view found) const {
    const std::string title = io::quoted(name_);
    switch (at_) {
      case At::metadata:
        fail(ErrorCode::invalid_file, "the metadata {} is {}: expected a string", io::quoted(key_), found);
      case At::tensor:
        fail(ErrorCode::invalid_file, "the {} of tensor {} is {}: expected {}", key_, title, found,
             key_ == "dtype" ? "a string" : "a list of whole numbers");
      case At::numbers:
        fail(ErrorCode::invalid_file, "the {} of tensor {} holds {}: expected whole numbers from 0 to 2^63 - 1", key_,
             title, found);
      default: fail(ErrorCode::invalid_file, "the header has {} for {}: expected an object", found, title);
    }
  }

  void finish_tensor() {
    const std::string title = io::quoted(name_);
    const std::string_view missing = !dtype_ ? "dtype" : !shape_ ? "shape" : !offsets_ ? "data_offsets" : "";
    WEFT_CHECK(missing.empty(), invalid_file, "tensor {} has no {}: expected dtype, shape and data_offsets", title,
               missing);
    const auto [begin, end, unused] = offsets_->values;
    WEFT_CHECK(offsets_->count == 2 && begin <= end, invalid_file,
               "the data_offsets of tensor {} are {} numbers, {} and {}: expected where it begins and where it ends",
               title, offsets_->count, begin, end);
    const auto [a, b, c] = shape_->values;
    const std::array shapes = {Shape(1), Shape(a), Shape(a, b), Shape(a, b, c)};
    const Shape& shape = shapes[shape_->count];
    std::int64_t bytes = 0;
    bool overflow = __builtin_mul_overflow(shape.heads, shape.width, &bytes);
    overflow |= __builtin_mul_overflow(bytes, shape.rows, &bytes);
    overflow |= __builtin_mul_overflow(bytes, static_cast<std::int64_t>(size_of(*dtype_)), &bytes);
    WEFT_CHECK(!overflow && end - begin == bytes, invalid_file, "tensor {} has {} bytes, but {} values of {} take {}",
               title, end - begin, to_string(shape), name_in(dtype_names, *dtype_),
               overflow ? "more than 2^63" : std::to_string(bytes));
    entries.push_back({std::move(name_), *dtype_, shape, begin, end});
    dtype_.reset();
    shape_.reset();
    offsets_.reset();
  }

  std::size_t bytes_;
  At at_ = At::start;
  std::set<std::string> names_;
  std::string name_, key_;
  std::optional<Dtype> dtype_;
  std::optional<Numbers> shape_, offsets_;
};

/// Puts the entries in the order of the data, which they must cover once. The header may have them in any order.
void arrange(std::vector<Entry>& entries, std::int64_t data_bytes) {
  std::ranges::stable_sort(entries, {}, [](const Entry& entry) { return std::tie(entry.begin, entry.end); });
  std::int64_t covered = 0;
  const auto check_gap = [&](std::int64_t begin) {
    WEFT_CHECK(begin == covered, invalid_file,
               "bytes {} to {} of the data belong to no tensor: expected tensors without gaps", covered, begin);
  };
  for (const Entry& entry : entries) {
    WEFT_CHECK(entry.end <= data_bytes, invalid_file,
               "tensor {} ends at byte {} of the data, which has {}: the file was cut off", io::quoted(entry.name),
               entry.end, data_bytes);
    WEFT_CHECK(entry.begin >= covered, invalid_file,
               "tensor {} starts at byte {} of the data, within the one before it, which ends at byte {}",
               io::quoted(entry.name), entry.begin, covered);
    check_gap(entry.begin);
    covered = entry.end;
  }
  check_gap(data_bytes);
}

/// Removes the checksum from the metadata, and compares it.
void check_checksum(std::string_view head, const std::vector<Bytes>& data,
                    std::map<std::string, std::string>& metadata) {
  const auto digits = metadata.extract(std::string(checksum_key)), method = metadata.extract(std::string(kind_key));
  if (!digits && !method) return;
  constexpr std::string_view advice =
      "the file is damaged, or another tool rewrote it: there, leave both entries of the checksum out";
  WEFT_CHECK(digits && method, invalid_file, "the metadata has '{}' without '{}': {}", digits ? checksum_key : kind_key,
             digits ? kind_key : checksum_key, advice);
  WEFT_CHECK(method.mapped() == kind, invalid_file,
             "'{}' is {}: expected '{}'; the file is damaged, or needs a newer weft", kind_key,
             io::quoted(method.mapped()), kind);
  const std::string_view header = head.substr(length_bytes);
  const std::string start = fmt::format("{}{}\"", sealed_start, digits.mapped());
  WEFT_CHECK(digits.mapped().size() == no_digits.size() && header.starts_with(start), invalid_file,
             "'{}' {} does not stand where weft writes it: {}", checksum_key, io::quoted(digits.mapped()), advice);
  const std::string found = checksum_digits(std::string(head), data);
  WEFT_CHECK(found == digits.mapped(), invalid_file, "its checksum is {}, but '{}' and '{}' say {}: {}", found,
             kind_key, checksum_key, io::quoted(digits.mapped()), advice);
}

/// All that stands before the data.
std::string_view head_of(std::string_view text) {
  WEFT_CHECK(text.size() > length_bytes, invalid_file,
             "it has {} bytes: a safetensors file starts with {} for its header's length, then the header", text.size(),
             length_bytes);
  const auto length = io::load<std::uint64_t>(text.data());
  WEFT_CHECK(length >= 1 && length <= longest_header, invalid_file,
             "its header takes {} bytes: expected 1 to {}; is it a safetensors file?", length, longest_header);
  WEFT_CHECK(length <= text.size() - length_bytes, invalid_file,
             "it has {} bytes, but its header alone takes {}: it was cut off", text.size(), length);
  const std::string_view head = text.substr(0, length_bytes + static_cast<std::size_t>(length));
  // The parser skips a byte-order mark and takes a zero byte for the end.
  WEFT_CHECK(head[length_bytes] == '{', invalid_file,
             "its header starts with {}: expected '{{'; is it a safetensors file?",
             io::quoted(head.substr(length_bytes, alignment)));
  const std::size_t zero = head.find('\0', length_bytes);
  WEFT_CHECK(zero == head.npos, invalid_file, "byte {}: found a zero byte, which is no JSON in UTF-8 here", zero + 1);
  return head;
}

TensorFile read(const std::string& path) {
  WEFT_CHECK(!io::Folder::is_one(path), io, "it is a folder: expected the path of a safetensors file");
  const io::Source source = io::load_file(path);
  const std::string_view head = head_of(source.text());
  HeaderReader header(head.size() - length_bytes);
  nlohmann::json::sax_parse(head.begin() + length_bytes, head.end(), &header);
  const Bytes all = source.bytes.subspan(head.size());
  arrange(header.entries, static_cast<std::int64_t>(all.size()));
  std::vector<Bytes> data;
  for (const Entry& entry : header.entries)
    data.push_back(
        all.subspan(static_cast<std::size_t>(entry.begin), static_cast<std::size_t>(entry.end - entry.begin)));
  check_checksum(head, data, header.metadata);

  TensorFile file{std::move(header.metadata), {}};
  for (std::size_t i = 0; i < data.size(); ++i) {
    Entry& entry = header.entries[i];
    Tensor value = Tensor::empty(entry.shape, entry.dtype, fmt::format("tensor {}", io::quoted(entry.name)));
    if (!data[i].empty()) std::memcpy(value.view().mutable_data(), data[i].data(), data[i].size());
    file.tensors.push_back({std::move(entry.name), std::move(value)});
  }
  return file;
}

}  // namespace

void write_tensors(const std::string& path, const TensorFile& file) {
  naming_file(path, [&] { write(path, file); });
}

TensorFile read_tensors(const std::string& path) {
  return naming_file(path, [&] { return read(path); });
}

const Tensor& tensor_named(const TensorFile& file, std::string_view name, const std::string& path) {
  const auto found = std::ranges::find(file.tensors, name, &NamedTensor::name);
  if (found != file.tensors.end()) return found->value;
  constexpr std::size_t most = 8;
  std::string names;
  for (std::size_t i = 0; i < std::min(file.tensors.size(), most); ++i)
    names += (i > 0 ? ", " : "") + io::quoted(file.tensors[i].name);
  fail(ErrorCode::invalid_file, "{}: it has no tensor {}; its {} tensors are {}{}", path, io::quoted(name),
       file.tensors.size(), names, file.tensors.size() > most ? ", ..." : "");
}

Tensor& tensor_named(TensorFile& file, std::string_view name, const std::string& path) {
  return const_cast<Tensor&>(tensor_named(std::as_const(file), name, path));
}

}  // namespace weft::nn
