#include "nn/safetensors_header.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/check.hpp"
#include "core/in_quotes.hpp"
#include "graph/io/byte_order.hpp"

namespace weft::nn {
namespace {

/// A shape or data_offsets as they are read.
struct Numbers {
  std::array<std::int64_t, 3> values{};
  std::size_t count = 0;
};

/// Takes the header piece by piece and refuses the first that has no place there, so nothing nests deeper than it may.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::map<std::string, std::string> metadata;
  std::vector<TensorEntry> entries;  // as the header orders them

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
               weft::in_quotes(name_));
    WEFT_CHECK(of_shape || numbers.count < 2, invalid_file,
               "the data_offsets of tensor {} hold more than 2 numbers: expected 2", weft::in_quotes(name_));
    numbers.values[numbers.count++] = static_cast<std::int64_t>(value);
    return true;
  }
  bool number_float(number_float_t, const string_t& written) override { refuse(weft::in_quotes(written)); }
  bool string(string_t& value) override {
    if (at_ == At::metadata) {
      metadata.emplace(key_, value);
    } else if (at_ == At::tensor && key_ == "dtype") {
      const auto* known = std::ranges::find(tensor_dtype_names, value, [](const auto& pair) { return pair.second; });
      WEFT_CHECK(known != tensor_dtype_names.end(), invalid_file,
                 "tensor {} has the dtype {}: expected F32, F16, BF16, F64, I32 or I64; convert it before saving it",
                 weft::in_quotes(name_), weft::in_quotes(value));
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
                 weft::in_quotes(name));
      name_ = name;
    } else if (at_ == At::metadata) {
      WEFT_CHECK(!metadata.contains(name), invalid_file, "the metadata has the key {} twice: expected one",
                 weft::in_quotes(name));
      key_ = name;
    } else {
      const bool known = name == "dtype" || name == "shape" || name == "data_offsets";
      WEFT_CHECK(known, invalid_file, "tensor {} has the key {}: expected dtype, shape and data_offsets",
                 weft::in_quotes(name_), weft::in_quotes(name));
      const bool twice = name == "dtype" ? dtype_.has_value() : (name == "shape" ? shape_ : offsets_).has_value();
      WEFT_CHECK(!twice, invalid_file, "tensor {} has the key {} twice: expected one", weft::in_quotes(name_), name);
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
    fail(ErrorCode::invalid_file, "byte {}: found {}, which is no JSON in UTF-8 here", header_length_bytes + position,
         weft::in_quotes(last));
  }

 private:
  enum class At { start, header, metadata, tensor, numbers, end };

  [[noreturn]] void refuse(std::string_view found) const {
    const std::string title = weft::in_quotes(name_);
    switch (at_) {
      case At::metadata:
        fail(ErrorCode::invalid_file, "the metadata {} is {}: expected a string", weft::in_quotes(key_), found);
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
    const std::string title = weft::in_quotes(name_);
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
               title, end - begin, to_string(shape), name_in(tensor_dtype_names, *dtype_),
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
void arrange(std::vector<TensorEntry>& entries, std::int64_t data_bytes) {
  std::ranges::stable_sort(entries, {}, [](const TensorEntry& entry) { return std::tie(entry.begin, entry.end); });
  std::int64_t covered = 0;
  const auto check_gap = [&](std::int64_t begin) {
    WEFT_CHECK(begin == covered, invalid_file,
               "bytes {} to {} of the data belong to no tensor: expected tensors without gaps", covered, begin);
  };
  for (const TensorEntry& entry : entries) {
    WEFT_CHECK(entry.end <= data_bytes, invalid_file,
               "tensor {} ends at byte {} of the data, which has {}: the file was cut off", weft::in_quotes(entry.name),
               entry.end, data_bytes);
    WEFT_CHECK(entry.begin >= covered, invalid_file,
               "tensor {} starts at byte {} of the data, within the one before it, which ends at byte {}",
               weft::in_quotes(entry.name), entry.begin, covered);
    check_gap(entry.begin);
    covered = entry.end;
  }
  check_gap(data_bytes);
}

}  // namespace

std::string_view head_of(std::string_view text) {
  WEFT_CHECK(text.size() > header_length_bytes, invalid_file,
             "it has {} bytes: a safetensors file starts with {} for its header's length, then the header", text.size(),
             header_length_bytes);
  const auto length = io::load<std::uint64_t>(text.data());
  WEFT_CHECK(length >= 1 && length <= longest_header, invalid_file,
             "its header takes {} bytes: expected 1 to {}; is it a safetensors file?", length, longest_header);
  WEFT_CHECK(length <= text.size() - header_length_bytes, invalid_file,
             "it has {} bytes, but its header alone takes {}: it was cut off", text.size(), length);
  const std::string_view head = text.substr(0, header_length_bytes + static_cast<std::size_t>(length));
  // The parser skips a byte-order mark and takes a zero byte for the end.
  WEFT_CHECK(head[header_length_bytes] == '{', invalid_file,
             "its header starts with {}: expected '{{'; is it a safetensors file?",
             weft::in_quotes(head.substr(header_length_bytes, header_alignment)));
  const std::size_t zero = head.find('\0', header_length_bytes);
  WEFT_CHECK(zero == head.npos, invalid_file, "byte {}: found a zero byte, which is no JSON in UTF-8 here", zero + 1);
  return head;
}

TensorHeader read_header(std::string_view head, std::int64_t data_bytes) {
  HeaderReader reader(head.size() - header_length_bytes);
  nlohmann::json::sax_parse(head.begin() + header_length_bytes, head.end(), &reader);
  arrange(reader.entries, data_bytes);
  return {std::move(reader.metadata), std::move(reader.entries)};
}

}  // namespace weft::nn
