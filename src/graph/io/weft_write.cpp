// Writing .weft.
#include <algorithm>
#include <array>
#include <cstring>

#include "core/check.hpp"
#include "graph/io/checksum.hpp"
#include "graph/io/note.hpp"
#include "graph/io/weft_layout.hpp"

namespace weft::io {
namespace {

std::uint32_t code_of(Dtype dtype) {
  const auto at = std::ranges::find(weft_dtypes, dtype);
  WEFT_CHECK(at != weft_dtypes.end(), internal, "dtype {} has no code in .weft", name(dtype));
  return static_cast<std::uint32_t>(at - weft_dtypes.begin()) + 1;
}

struct WrittenPart {
  WeftSection section;
  std::span<const std::byte> bytes;
};

WrittenPart part_of(std::string_view title, std::span<const std::byte> bytes, std::uint32_t type, std::uint32_t flags) {
  WrittenPart part{};
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

/// Everything that is written, in the order it stands in the file.
class WrittenParts {
 public:
  void add(std::string_view title, std::span<const std::byte> bytes, Dtype dtype, std::uint32_t flags = 0) {
    parts_.push_back(part_of(title, bytes, code_of(dtype), flags));
  }
  void add(std::string_view title, std::string_view text) {
    if (!text.empty()) parts_.push_back(part_of(title, std::as_bytes(std::span(text)), weft_text, 0));
  }
  /// Nothing where there is none. What a leading dimension spreads is packed.
  void add(std::string_view title, ConstTensorView tensor) {
    if (!tensor) return;
    if (tensor.ld != tensor.shape.row_size()) {
      copies_.push_back(packed(tensor));
      tensor = copies_.back();
    }
    const std::size_t size = static_cast<std::size_t>(tensor.shape.size()) * size_of(tensor.dtype);
    add(title, {static_cast<const std::byte*>(tensor.data), size}, tensor.dtype);
    WeftSection& section = parts_.back().section;
    section.heads = tensor.shape.heads;
    section.width = tensor.shape.width;
    section.rank = static_cast<std::uint32_t>(tensor.shape.rank);
  }
  std::vector<WrittenPart>& all() { return parts_; }

 private:
  std::vector<WrittenPart> parts_;
  std::vector<Tensor> copies_;
};

}  // namespace

void write_weft(AtomicWriter& out, const Contents& contents, const Progress& progress) {
  const Graph& graph = contents.graph;
  WrittenParts sections;
  sections.add("offsets", std::as_bytes(graph.offsets()), Dtype::i64, WeftSection::required);
  sections.add("cols", std::as_bytes(graph.cols()), Dtype::i32, WeftSection::required);
  if (graph.has_edge_ids())
    sections.add("edge_ids", std::as_bytes(graph.edge_ids()), Dtype::i64, WeftSection::required);
  sections.add("values", contents.values);
  sections.add("note", contents.note);
  std::string name;
  std::array<std::int64_t, 3> counts{};
  if (contents.dataset != nullptr && contents.dataset->has_more_than_graph()) {
    const Dataset& data = *contents.dataset;
    name = clean_note(data.name);
    counts = {data.classes, data.graph_classes, data.sparse_features.cols};
    sections.add("features", data.features.view());
    sections.add("feat_offsets", data.sparse_features.offsets.view());
    sections.add("feat_columns", data.sparse_features.columns.view());
    sections.add("feat_values", data.sparse_features.values.view());
    sections.add("labels", data.labels.view());
    sections.add("class_offsets", data.class_names.offsets.view());
    sections.add("class_text", data.class_names.text);
    sections.add("train", data.train.view());
    sections.add("val", data.val.view());
    sections.add("test", data.test.view());
    sections.add("node_ids", data.node_ids.view());
    sections.add("name_offsets", data.node_names.offsets.view());
    sections.add("name_text", data.node_names.text);
    sections.add("original", data.original.view());
    sections.add("graph_ids", data.graph_ids.view());
    sections.add("graph_labels", data.graph_labels.view());
    sections.add("counts", std::as_bytes(std::span(counts)), Dtype::i64);
    sections.add("name", name);
  }
  std::vector<WrittenPart>& parts = sections.all();

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
  for (WrittenPart& part : parts) {
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
  for (const WrittenPart& part : parts) {
    out.pad_to(weft_alignment);
    for (std::size_t at = 0; at < part.bytes.size(); at += step) {
      out.write(part.bytes.subspan(at, std::min(step, part.bytes.size() - at)));
      if (progress) progress("writing", out.tell(), static_cast<std::int64_t>(total));
    }
  }
}

}  // namespace weft::io
