#include "nn/safetensors.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

#include "core/check.hpp"
#include "core/in_quotes.hpp"
#include "core/memory.hpp"
#include "graph/io/atomic_writer.hpp"
#include "graph/io/checksum.hpp"
#include "graph/io/folder.hpp"
#include "graph/io/naming.hpp"
#include "nn/safetensors_header.hpp"

namespace weft::nn {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view checksum_key = "weft.checksum", checksum_kind_key = "weft.checksum_kind",
                           checksum_kind = "crc32";
// What a header with a checksum starts with, up to the digits.
constexpr std::string_view sealed_start = R"({"__metadata__":{"weft.checksum":")";
constexpr std::string_view no_digits = "00000000";

/// f() with the file's name in front of whatever goes wrong.
template <class F>
auto naming_file(const std::string& path, F&& f) {
  WEFT_CHECK(!path.empty(), invalid_argument, "the path is empty: expected the name of a safetensors file");
  return io::naming_part(path, [&] { return or_out_of_memory("the file's tensors", f); });
}

/// `head` is all that stands before the data.
std::string checksum_digits(std::string head, const std::vector<Bytes>& data) {
  head.replace(header_length_bytes + sealed_start.size(), no_digits.size(), no_digits);
  for (const Bytes& tensor : data) head += fmt::format("{:08x}", io::checksum(tensor));
  return fmt::format("{:08x}", io::checksum(std::as_bytes(std::span(head))));
}

// ---- Writing ---------------------------------------------------------------------------------

std::string json_string(std::string_view text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    fail(ErrorCode::invalid_argument, "the text {} is not UTF-8: names and metadata have to be", weft::in_quotes(text));
  }
}

void check_tensor(const NamedTensor& tensor) {
  const std::string title = weft::in_quotes(tensor.name);
  const Tensor& value = tensor.value;
  WEFT_CHECK(tensor.name != metadata_key, invalid_argument, "a tensor is named {}: the layout keeps it for metadata",
             title);
  WEFT_CHECK(value, invalid_argument, "tensor {} has no value: expected one", title);
  WEFT_CHECK(value.device().kind == DeviceKind::cpu, invalid_argument,
             "tensor {} is on {}: copy it to the host before writing it", title, to_string(value.device()));
  const Shape& shape = value.shape();
  WEFT_CHECK(shape.rank >= 1 && shape.rank <= 3 && (shape.rank > 1 || shape.width == 1) &&
                 (shape.rank > 2 || shape.heads == 1),
             invalid_argument, "tensor {} has the rank {} with {} x {} values per row", title, shape.rank, shape.heads,
             shape.width);
}

std::vector<Bytes> data_of(const TensorFile& file) {
  std::set<std::string_view> names;
  std::vector<Bytes> data;
  for (const NamedTensor& tensor : file.tensors) {
    check_tensor(tensor);
    WEFT_CHECK(names.insert(tensor.name).second, invalid_argument, "two tensors are named {}: expected one",
               weft::in_quotes(tensor.name));
    data.emplace_back(static_cast<const std::byte*>(tensor.value.view().data), tensor.value.bytes());
  }
  return data;
}

/// The header's length and the header, without its checksum yet.
std::string unsealed_head_of(const TensorFile& file) {
  std::string header(sealed_start);
  header += fmt::format(R"({}","{}":"{}")", no_digits, checksum_kind_key, checksum_kind);
  for (const auto& [key, value] : file.metadata) {
    WEFT_CHECK(key != checksum_key && key != checksum_kind_key, invalid_argument,
               "the metadata has the key '{}': writing adds it, leave it out", key);
    header += fmt::format(",{}:{}", json_string(key), json_string(value));
  }
  header += '}';
  std::size_t end = 0;
  for (const auto& [name, value] : file.tensors) {
    const std::size_t begin = std::exchange(end, end + value.bytes());
    header += fmt::format(R"(,{}:{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", json_string(name),
                          name_in(tensor_dtype_names, value.dtype()), to_string(value.shape()), begin, end);
  }
  header += '}';
  header.append((header_alignment - header.size() % header_alignment) % header_alignment, ' ');
  WEFT_CHECK(header.size() <= longest_header, invalid_argument,
             "names and metadata take {} bytes: expected at most {}; put fewer tensors in one file", header.size(),
             longest_header);
  const std::uint64_t length = header.size();
  std::string head(header_length_bytes, '\0');
  std::memcpy(head.data(), &length, header_length_bytes);
  return head += header;
}

void write(const std::string& path, const TensorFile& file) {
  const std::vector<Bytes> data = data_of(file);
  std::string head = unsealed_head_of(file);
  head.replace(header_length_bytes + sealed_start.size(), no_digits.size(), checksum_digits(head, data));
  io::AtomicWriter out(path);
  out.write(head);
  for (const Bytes& tensor : data) out.write(tensor);
  out.commit();
}

// ---- Reading ---------------------------------------------------------------------------------

/// Removes the checksum from the metadata, and compares it where it is `required`.
void check_checksum(std::string_view head, const std::vector<Bytes>& data, std::map<std::string, std::string>& metadata,
                    Checksum required) {
  const auto digits = metadata.extract(std::string(checksum_key)),
             method = metadata.extract(std::string(checksum_kind_key));
  if (required == Checksum::ignored) return;
  constexpr std::string_view advice =
      "the file is damaged, or another tool rewrote it; a model that you trust is read without (weft infer "
      "--no-checksum, Checksum::ignored)";
  WEFT_CHECK(digits || method, invalid_file,
             "its metadata has no '{}', which weft writes into every model and checkpoint: {}", checksum_key, advice);
  WEFT_CHECK(digits && method, invalid_file, "the metadata has '{}' without '{}': {}",
             digits ? checksum_key : checksum_kind_key, digits ? checksum_kind_key : checksum_key, advice);
  WEFT_CHECK(method.mapped() == checksum_kind, invalid_file,
             "'{}' is {}: expected '{}'; the file is damaged, or needs a newer weft", checksum_kind_key,
             weft::in_quotes(method.mapped()), checksum_kind);
  const std::string_view header = head.substr(header_length_bytes);
  const std::string start = fmt::format("{}{}\"", sealed_start, digits.mapped());
  WEFT_CHECK(digits.mapped().size() == no_digits.size() && header.starts_with(start), invalid_file,
             "'{}' {} does not stand where weft writes it: {}", checksum_key, weft::in_quotes(digits.mapped()), advice);
  const std::string found = checksum_digits(std::string(head), data);
  WEFT_CHECK(found == digits.mapped(), invalid_file, "its checksum is {}, but '{}' and '{}' say {}: {}", found,
             checksum_kind_key, checksum_key, weft::in_quotes(digits.mapped()), advice);
}

TensorFile read(const io::Source& source, Checksum checksum) {
  const std::string_view head = head_of(source.text());
  const Bytes all = source.bytes.subspan(head.size());
  TensorHeader header = read_header(head, static_cast<std::int64_t>(all.size()));
  std::vector<Bytes> data;
  for (const TensorEntry& entry : header.entries)
    data.push_back(
        all.subspan(static_cast<std::size_t>(entry.begin), static_cast<std::size_t>(entry.end - entry.begin)));
  check_checksum(head, data, header.metadata, checksum);

  TensorFile file{std::move(header.metadata), {}};
  for (std::size_t i = 0; i < data.size(); ++i) {
    TensorEntry& entry = header.entries[i];
    Tensor value = Tensor::empty(entry.shape, entry.dtype, fmt::format("tensor {}", weft::in_quotes(entry.name)));
    if (!data[i].empty()) std::memcpy(value.view().mutable_data(), data[i].data(), data[i].size());
    file.tensors.push_back({std::move(entry.name), std::move(value)});
  }
  return file;
}

}  // namespace

void write_tensors(const std::string& path, const TensorFile& file) {
  naming_file(path, [&] { write(path, file); });
}

TensorFile read_tensors(const std::string& path, Checksum checksum) {
  return naming_file(path, [&] {
    WEFT_CHECK(!io::Folder::is_one(path), io, "it is a folder: expected the path of a safetensors file");
    return read(io::load_file(path), checksum);
  });
}

TensorFile read_tensors(const io::Source& source, Checksum checksum) {
  return naming_file(source.path, [&] { return read(source, checksum); });
}

const Tensor& tensor_named(const TensorFile& file, std::string_view name, const std::string& path) {
  const auto found = std::ranges::find(file.tensors, name, &NamedTensor::name);
  if (found != file.tensors.end()) return found->value;
  constexpr std::size_t most = 8;
  std::string names;
  for (std::size_t i = 0; i < std::min(file.tensors.size(), most); ++i)
    names += (i > 0 ? ", " : "") + weft::in_quotes(file.tensors[i].name);
  fail(ErrorCode::invalid_file, "{}: it has no tensor {}; its {} tensors are {}{}", path, weft::in_quotes(name),
       file.tensors.size(), names, file.tensors.size() > most ? ", ..." : "");
}

Tensor& tensor_named(TensorFile& file, std::string_view name, const std::string& path) {
  return const_cast<Tensor&>(tensor_named(std::as_const(file), name, path));
}

}  // namespace weft::nn
