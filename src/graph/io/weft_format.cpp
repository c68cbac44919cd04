// Reading and writing .weft.
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

// Position + 1 is the type's code in the file; Dtype's own order may change, this must not.
constexpr std::array dtype_codes = {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f64, Dtype::i32, Dtype::i64};

std::uint32_t code_of(Dtype dtype) {
  const auto at = std::ranges::find(dtype_codes, dtype);
  WEFT_CHECK(at != dtype_codes.end(), internal, "dtype {} has no code in .weft", name(dtype));
  return static_cast<std::uint32_t>(at - dtype_codes.begin()) + 1;
}

Dtype dtype_of_section(const WeftSection& section) {
  WEFT_CHECK(section.type >= 1 && section.type <= dtype_codes.size(), invalid_file,
             "section '{}' has the type {}: expected 1 to {}", section.title(), section.type, dtype_codes.size());
  return dtype_codes[section.type - 1];
}

// ---- Reading ----

class Reader {
 public:
  Reader(const Source& source, const ReadOptions& options) : source_(source), options_(options) {}

  GraphFile read() {
    read_header();
    read_sections();
    const auto offsets = array<EdgeId>("offsets", header_.rows + 1);
    const auto cols = array<NodeId>("cols", header_.edges);
    auto edge_ids = find("edge_ids") ? array<EdgeId>("edge_ids", header_.edges) : std::span<const EdgeId>{};
    // These two hold the arrays together even where the rest is taken on trust.
    WEFT_CHECK(offsets.front() == 0 && offsets.back() == header_.edges, invalid_file,
               "the offsets run from {} to {}: expected 0 to {}, the number of edges", offsets.front(), offsets.back(),
               header_.edges);
    GraphFile file;
    file.values = values();
    file.note = note();
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
               quoted(source_.text().substr(0, weft_magic.size())));
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
                 "section {} starts at byte {}: expected a multiple of {} behind the header", quoted(section.title()),
                 section.offset, weft_alignment);
      WEFT_CHECK(section.offset <= size && section.bytes <= size - section.offset, invalid_file,
                 "section {} takes {} bytes from byte {}, but the file has {}: it was cut off", quoted(section.title()),
                 section.bytes, section.offset, size);
      const std::string_view title = section.title();
      const bool known = std::ranges::find(known_sections, title) != std::end(known_sections);
      WEFT_CHECK(known || (section.flags & WeftSection::required) == 0, unsupported,
                 "it needs section {}, which this weft does not know: use a newer weft", quoted(title));
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

  Tensor values() {
    const auto section = find("values");
    if (!section) return {};
    const Dtype dtype = dtype_of_section(*section);
    WEFT_CHECK(section->rank >= 1 && section->rank <= 3 && section->heads >= 0 && section->width >= 0, invalid_file,
               "section 'values' has the rank {} and {} x {} values an edge: expected rank 1 to 3", section->rank,
               section->heads, section->width);
    std::int64_t wanted = 0;
    bool overflow = __builtin_mul_overflow(section->heads, section->width, &wanted);
    overflow |= __builtin_mul_overflow(wanted, header_.edges, &wanted);
    overflow |= __builtin_mul_overflow(wanted, static_cast<std::int64_t>(size_of(dtype)), &wanted);
    WEFT_CHECK(!overflow && section->bytes == static_cast<std::uint64_t>(wanted), invalid_file,
               "section 'values' has {} bytes: expected {} edges with {} x {} values of {} bytes", section->bytes,
               header_.edges, section->heads, section->width, size_of(dtype));
    Shape shape(header_.edges, section->heads, section->width);
    shape.rank = static_cast<int>(section->rank);
    WEFT_CHECK((shape.rank > 1 || shape.row_size() == 1) && (shape.rank > 2 || shape.heads == 1), invalid_file,
               "section 'values' has the rank {} with {} x {} values an edge", shape.rank, shape.heads, shape.width);
    const auto bytes = content(*section);
    Tensor tensor = Tensor::empty(shape, dtype, "the edge values");
    auto* out = static_cast<std::byte*>(tensor.view().mutable_data());
    parallel_ranges(default_threads(), static_cast<std::int64_t>(bytes.size()), 1 << 22,
                    [&](std::int64_t begin, std::int64_t end) {
                      if (end > begin)
                        std::memcpy(out + begin, bytes.data() + begin, static_cast<std::size_t>(end - begin));
                    });
    return tensor;
  }

  std::string note() {
    const auto section = find("note");
    if (!section) return {};
    WEFT_CHECK(section->type == weft_text, invalid_file, "section 'note' has the type {}: expected {}, text",
               section->type, weft_text);
    const auto bytes = content(*section);
    return clean_note({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  static constexpr std::string_view known_sections[] = {"offsets", "cols", "edge_ids", "values", "note"};

  const Source& source_;
  const ReadOptions& options_;
  WeftHeader header_{};
  std::vector<WeftSection> sections_;
  std::int64_t checked_bytes_ = 0, done_bytes_ = 0;
};

// ---- Writing ----

struct Part {
  WeftSection section;
  std::span<const std::byte> bytes;
};

Part part_of(std::string_view title, std::span<const std::byte> bytes, std::uint32_t type, std::uint32_t flags) {
  Part part{};
  std::copy(title.begin(), title.end(), part.section.name.begin());
  part.section.bytes = bytes.size();
  part.section.heads = part.section.width = part.section.rank = 1;
  part.section.type = type;
  part.section.crc = checksum(bytes);
  part.section.flags = flags;
  part.bytes = bytes;
  return part;
}

// The values without the gaps a leading dimension leaves.
Tensor packed(const ConstTensorView& values) {
  Tensor copy = Tensor::empty(values.shape, values.dtype, "packed edge values");
  const std::size_t element = size_of(values.dtype);
  const std::size_t row = static_cast<std::size_t>(values.shape.row_size()) * element;
  const std::size_t stride = static_cast<std::size_t>(values.ld) * element;
  auto* out = static_cast<std::byte*>(copy.view().mutable_data());
  const auto* in = static_cast<const std::byte*>(values.data);
  for (std::size_t i = 0; row > 0 && i < static_cast<std::size_t>(values.shape.rows); ++i)
    std::memcpy(out + i * row, in + i * stride, row);
  return copy;
}

void write_weft(AtomicWriter& out, const Graph& graph, ConstTensorView values, std::string_view note,
                const Progress& progress) {
  std::vector<Part> parts;
  parts.push_back(part_of("offsets", std::as_bytes(graph.offsets()), code_of(Dtype::i64), WeftSection::required));
  parts.push_back(part_of("cols", std::as_bytes(graph.cols()), code_of(Dtype::i32), WeftSection::required));
  if (graph.has_edge_ids())
    parts.push_back(part_of("edge_ids", std::as_bytes(graph.edge_ids()), code_of(Dtype::i64), WeftSection::required));
  Tensor copy;
  if (values) {
    if (values.ld != values.shape.row_size()) {
      copy = packed(values);
      values = copy;
    }
    const std::size_t size = static_cast<std::size_t>(values.shape.size()) * size_of(values.dtype);
    Part part = part_of("values", {static_cast<const std::byte*>(values.data), size}, code_of(values.dtype), 0);
    part.section.heads = values.shape.heads;
    part.section.width = values.shape.width;
    part.section.rank = static_cast<std::uint32_t>(values.shape.rank);
    parts.push_back(part);
  }
  if (!note.empty()) parts.push_back(part_of("note", std::as_bytes(std::span(note)), weft_text, 0));

  WeftHeader header{};
  header.magic = weft_magic;
  header.version = weft_version;
  header.byte_order = weft_byte_order;
  header.sections = static_cast<std::uint32_t>(parts.size());
  header.header_bytes = static_cast<std::uint32_t>(sizeof(WeftHeader) + parts.size() * sizeof(WeftSection));
  header.rows = graph.num_rows();
  header.cols = graph.num_cols();
  header.edges = graph.num_edges();
  std::uint64_t end = header.header_bytes, total = 0;
  for (Part& part : parts) {
    part.section.offset = (end + weft_alignment - 1) / weft_alignment * weft_alignment;
    end = part.section.offset + part.section.bytes;
  }
  total = end;
  std::vector<std::byte> start(header.header_bytes);
  std::memcpy(start.data(), &header, sizeof header);
  for (std::size_t i = 0; i < parts.size(); ++i)
    std::memcpy(start.data() + sizeof header + i * sizeof(WeftSection), &parts[i].section, sizeof(WeftSection));
  const std::uint32_t crc = checksum(start);
  std::memcpy(start.data() + offsetof(WeftHeader, crc), &crc, sizeof crc);

  out.write(start);
  constexpr std::size_t step = std::size_t{64} << 20;
  for (const Part& part : parts) {
    out.pad_to(weft_alignment);
    for (std::size_t at = 0; at < part.bytes.size(); at += step) {
      out.write(part.bytes.subspan(at, std::min(step, part.bytes.size() - at)));
      if (progress) progress("writing", out.tell(), static_cast<std::int64_t>(total));
    }
  }
}

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
      [](const Source& source, const ReadOptions& options) { return Reader(source, options).read(); },
      &write_weft};
  return format;
}

}  // namespace weft::io
