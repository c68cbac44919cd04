// Reading .weft.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "core/check.hpp"
#include "core/parallel.hpp"
#include "graph/graph_impl.hpp"
#include "graph/io/byte_order.hpp"
#include "graph/io/checksum.hpp"
#include "graph/io/format.hpp"
#include "graph/io/note.hpp"
#include "graph/io/weft_layout.hpp"

namespace weft::io {
namespace {

Dtype dtype_of_section(const WeftSection& section) {
  WEFT_CHECK(section.type >= 1 && section.type <= weft_dtypes.size(), invalid_file,
             "section '{}' has the type {}: expected 1 to {}", section.title(), section.type, weft_dtypes.size());
  return weft_dtypes[section.type - 1];
}

class WeftReader {
 public:
  WeftReader(const Source& source, const ReadOptions& options) : source_(source), options_(options) {}

  Dataset read() {
    read_header();
    read_sections();
    const auto offsets = array<EdgeId>("offsets", header_.rows + 1);
    const auto cols = array<NodeId>("cols", header_.edges);
    auto edge_ids = find("edge_ids") ? array<EdgeId>("edge_ids", header_.edges) : std::span<const EdgeId>{};
    // These two hold the arrays together even where the rest is taken on trust.
    WEFT_CHECK(offsets.front() == 0 && offsets.back() == header_.edges, invalid_file,
               "the offsets run from {} to {}: expected 0 to {}, the number of edges", offsets.front(), offsets.back(),
               header_.edges);
    Dataset file;
    file.values = tensor("values", header_.edges);
    file.note = clean_note(text("note"));
    if (!options_.graph_only) read_rest(file);
    if (options_.validate == Validate::full) {
      weft::validate({header_.rows, header_.cols, header_.edges, offsets.data(), nullptr, cols.data(),
                      edge_ids.empty() ? nullptr : edge_ids.data()},
                     EdgeIdCheck::mixed_sum);
      if (in_sequence(edge_ids)) edge_ids = {};
    }
    file.graph = Graph::adopt(header_.rows, header_.cols, offsets, cols, edge_ids, source_.keeper, Validate::trusted);
    return file;
  }

 private:
  void read_header() {
    const std::size_t size = source_.bytes.size();
    WEFT_CHECK(size >= sizeof(WeftHeader), invalid_file, "it has {} bytes: a .weft file has at least {}", size,
               sizeof(WeftHeader));
    header_ = load<WeftHeader>(source_.bytes.data());
    WEFT_CHECK(header_.magic == weft_magic, invalid_file, "it starts with {}: expected the mark of a .weft file",
               in_quotes(source_.text().substr(0, weft_magic.size())));
    WEFT_CHECK(header_.byte_order != weft_byte_order_swapped, unsupported,
               "it was written on a big-endian machine: expected little-endian; write it as .mtx there");
    WEFT_CHECK(header_.byte_order == weft_byte_order, invalid_file,
               "its byte-order mark is {:#010x}: expected {:#010x}", header_.byte_order, weft_byte_order);
    WEFT_CHECK(header_.version >= 1, invalid_file, "it is .weft version 0: expected 1 or more");
    WEFT_CHECK(header_.version <= weft_version, unsupported,
               "it is .weft version {}, this weft reads up to {}: use a newer weft", header_.version, weft_version);
    WEFT_CHECK(header_.sections <= weft_most_sections &&
                   header_.header_bytes == sizeof(WeftHeader) + header_.sections * sizeof(WeftSection),
               invalid_file, "its header declares {} sections in {} bytes: these do not fit together", header_.sections,
               header_.header_bytes);
    WEFT_CHECK(header_.header_bytes <= size, invalid_file,
               "it has {} bytes, but its header alone takes {}: it was cut off", size, header_.header_bytes);
    std::vector<std::byte> copy(source_.bytes.begin(), source_.bytes.begin() + header_.header_bytes);
    std::memset(copy.data() + offsetof(WeftHeader, crc), 0, sizeof header_.crc);
    const std::uint32_t found = checksum(copy);
    WEFT_CHECK(found == header_.crc, invalid_file,
               "the header's checksum is {:#010x}: expected {:#010x}; it is damaged", found, header_.crc);
    WEFT_CHECK(header_.flags == 0, unsupported, "it needs the features {:#x}, which this weft lacks: use a newer weft",
               header_.flags);
    check_counts(header_.rows, header_.cols, header_.edges);
  }

  void read_sections() {
    for (std::uint32_t i = 0; i < header_.sections; ++i) {
      const auto section = load<WeftSection>(source_.bytes.data() + sizeof(WeftHeader) + i * sizeof(WeftSection));
      const std::size_t size = source_.bytes.size();
      WEFT_CHECK(section.offset % weft_alignment == 0 && section.offset >= header_.header_bytes, invalid_file,
                 "section {} starts at byte {}: expected a multiple of {} behind the header",
                 in_quotes(section.title()), section.offset, weft_alignment);
      WEFT_CHECK(section.offset <= size && section.bytes <= size - section.offset, invalid_file,
                 "section {} takes {} bytes from byte {}, but the file has {}: it was cut off",
                 in_quotes(section.title()), section.bytes, section.offset, size);
      const std::string_view title = section.title();
      const bool known = std::ranges::find(known_sections, title) != std::end(known_sections);
      WEFT_CHECK(known || (section.flags & WeftSection::required) == 0, unsupported,
                 "it needs section {}, which this weft does not know: use a newer weft", in_quotes(title));
      if (!known) continue;
      WEFT_CHECK(!find(title), invalid_file, "it has two sections '{}': expected one", title);
      sections_.push_back(section);
      checked_bytes_ += static_cast<std::int64_t>(section.bytes);
    }
  }

  std::optional<WeftSection> find(std::string_view title) const {
    for (const WeftSection& section : sections_)
      if (section.title() == title) return section;
    return std::nullopt;
  }

  std::span<const std::byte> content(const WeftSection& section) {
    const auto bytes =
        source_.bytes.subspan(static_cast<std::size_t>(section.offset), static_cast<std::size_t>(section.bytes));
    if (options_.validate == Validate::trusted) return bytes;
    const std::uint32_t found = checksum(bytes, [this](std::int64_t done) {
      if (options_.progress) options_.progress("checking", done_bytes_ + done, checked_bytes_);
    });
    done_bytes_ += static_cast<std::int64_t>(bytes.size());
    WEFT_CHECK(found == section.crc, invalid_file,
               "section '{}' (bytes {} to {}) has the checksum {:#010x}: expected {:#010x}; it is damaged",
               section.title(), section.offset, section.offset + section.bytes, found, section.crc);
    return bytes;
  }

  template <class T>
  std::span<const T> array(std::string_view title, std::int64_t count) {
    const auto section = find(title);
    WEFT_CHECK(section.has_value(), invalid_file, "it has no section '{}'", title);
    std::uint64_t wanted = 0;
    const bool overflow = __builtin_mul_overflow(static_cast<std::uint64_t>(count), sizeof(T), &wanted);
    WEFT_CHECK(!overflow && section->bytes == wanted && dtype_of_section(*section) == dtype_of<T>, invalid_file,
               "section '{}' has {} bytes: expected {} elements of {} bytes", title, section->bytes, count, sizeof(T));
    return {reinterpret_cast<const T*>(content(*section).data()), static_cast<std::size_t>(count)};
  }

  void read_rest(Dataset& file) {
    file.features = tensor("features", header_.rows);
    file.sparse_features.offsets = tensor("feat_offsets", header_.rows + 1);
    file.sparse_features.columns = tensor("feat_columns");
    file.sparse_features.values = tensor("feat_values");
    file.labels = tensor("labels", header_.rows);
    file.class_names.offsets = tensor("class_offsets");
    file.class_names.text = text("class_text");
    file.train = tensor("train");
    file.val = tensor("val");
    file.test = tensor("test");
    file.node_ids = tensor("node_ids", header_.rows);
    file.node_names.offsets = tensor("name_offsets", header_.rows + 1);
    file.node_names.text = text("name_text");
    file.original = tensor("original", header_.rows);
    file.graph_ids = tensor("graph_ids", header_.rows);
    file.graph_labels = tensor("graph_labels");
    file.name = clean_note(text("name"));
    if (!find("counts")) return;
    const auto counts = array<std::int64_t>("counts", 3);
    file.classes = counts[0];
    file.graph_classes = counts[1];
    file.sparse_features.cols = counts[2];
  }

  /// A copy; `rows` is what the section must have, or -1 for what its bytes give.
  Tensor tensor(std::string_view title, std::int64_t rows = -1) {
    const auto section = find(title);
    if (!section) return {};
    const Dtype dtype = dtype_of_section(*section);
    WEFT_CHECK(section->rank >= 1 && section->rank <= 3 && section->heads >= 0 && section->width >= 0, invalid_file,
               "section '{}' has the rank {} and {} x {} values per row: expected rank 1 to 3", title, section->rank,
               section->heads, section->width);
    std::int64_t row_bytes = 0, wanted = 0;
    bool overflow = __builtin_mul_overflow(section->heads, section->width, &row_bytes);
    overflow |= __builtin_mul_overflow(row_bytes, static_cast<std::int64_t>(size_of(dtype)), &row_bytes);
    if (rows < 0 && !overflow && row_bytes > 0) rows = static_cast<std::int64_t>(section->bytes) / row_bytes;
    overflow |= __builtin_mul_overflow(row_bytes, rows, &wanted);
    WEFT_CHECK(!overflow && rows >= 0 && section->bytes == static_cast<std::uint64_t>(wanted), invalid_file,
               "section '{}' has {} bytes: expected {} rows with {} x {} values of {} bytes", title, section->bytes,
               rows, section->heads, section->width, size_of(dtype));
    Shape shape(rows, section->heads, section->width);
    shape.rank = static_cast<int>(section->rank);
    WEFT_CHECK((shape.rank > 1 || shape.row_size() == 1) && (shape.rank > 2 || shape.heads == 1), invalid_file,
               "section '{}' has the rank {} with {} x {} values per row", title, shape.rank, shape.heads, shape.width);
    const auto bytes = content(*section);
    Tensor result = Tensor::empty(shape, dtype, title);
    auto* out = static_cast<std::byte*>(result.view().mutable_data());
    parallel_ranges(default_threads(), static_cast<std::int64_t>(bytes.size()), 1 << 22,
                    [&](std::int64_t begin, std::int64_t end) {
                      if (end > begin)
                        std::memcpy(out + begin, bytes.data() + begin, static_cast<std::size_t>(end - begin));
                    });
    return result;
  }

  std::string_view text(std::string_view title) {
    const auto section = find(title);
    if (!section) return {};
    WEFT_CHECK(section->type == weft_text, invalid_file, "section '{}' has the type {}: expected {}, text", title,
               section->type, weft_text);
    const auto bytes = content(*section);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  static constexpr std::string_view known_sections[] = {
      "offsets",      "cols",         "edge_ids",      "values",       "note",    "features",
      "feat_offsets", "feat_columns", "feat_values",   "labels",       "train",   "val",
      "test",         "node_ids",     "graph_ids",     "graph_labels", "counts",  "name",
      "name_offsets", "name_text",    "class_offsets", "class_text",   "original"};

  const Source& source_;
  const ReadOptions& options_;
  WeftHeader header_{};
  std::vector<WeftSection> sections_;
  std::int64_t checked_bytes_ = 0, done_bytes_ = 0;
};

bool sniff_weft(const Source& source) {
  return source.bytes.size() >= weft_magic.size() &&
         std::memcmp(source.bytes.data(), weft_magic.data(), weft_magic.size()) == 0;
}

}  // namespace

const Format& weft_format() {
  static const Format format{
      "weft",
      {".weft"},
      "weft's own binary",
      &sniff_weft,
      [](const Source& source, const ReadOptions& options) { return WeftReader(source, options).read(); },
      &write_weft};
  return format;
}

}  // namespace weft::io
