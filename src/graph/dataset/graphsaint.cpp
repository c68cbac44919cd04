// GraphSAINT's folders: adj_full.npz (row = source, column = target, as the datasets' loaders take it; its values are
// not read), feats.npy, class_map.json and role.json.
#include <array>
#include <charconv>
#include <limits>
#include <vector>

#include "core/check.hpp"
#include "graph/dataset/tensor_of.hpp"
#include "graph/io/format.hpp"
#include "graph/io/json_events.hpp"
#include "graph/io/npy_file.hpp"
#include "graph/io/scipy_matrix.hpp"

namespace weft::io {
namespace {

/// An object of whole numbers and of lists of them: what both .json files are. Anything else is refused.
class ListsByName : public JsonEvents {
 public:
  void begin_object() final {
    if (depth_ > 0) refuse("an object");
    depth_ = 1;
  }
  void begin_list() final {
    if (depth_ != 1) refuse("a list");
    depth_ = 2;
    list_begins();
  }
  void end_list() final {
    depth_ = 1;
    list_ends();
  }
  void end_object() final { depth_ = 0; }
  void integer(std::int64_t value) final {
    if (depth_ == 0) refuse(std::to_string(value));
    if (depth_ == 1)
      single(value);
    else
      member(value);
  }
  void other(std::string_view found) final { refuse(found); }

 protected:
  explicit ListsByName(std::string_view expected) : expected_(expected) {}
  [[noreturn]] void refuse(std::string_view found) const {
    fail(ErrorCode::invalid_file, "found {}: expected {}", found, expected_);
  }

 private:
  virtual void list_begins() = 0;
  virtual void list_ends() = 0;
  virtual void single(std::int64_t value) = 0;  // outside of lists
  virtual void member(std::int64_t value) = 0;

  std::string_view expected_;
  int depth_ = 0;  // 1 in the object, 2 in a list of it
};

/// {"0": 3, "1": 0, ...}, or {"0": [0, 1, 1], "1": [1, 0, 0], ...}.
class ClassMap final : public ListsByName {
 public:
  ClassMap(std::int64_t nodes, std::size_t file_bytes)
      : ListsByName("a class for each node, or a list of 0 and 1 for each"),
        nodes_(nodes),
        file_bytes_(file_bytes),
        seen_(static_cast<std::size_t>(nodes)) {}

  void key(const std::string& name) override {
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data(), end, node_);
    WEFT_CHECK(!name.empty() && stop == end && error == std::errc() && node_ >= 0 && node_ < nodes_, invalid_file,
               "found the id {}: expected a node, 0 to {}", in_quotes(name), nodes_ - 1);
    WEFT_CHECK(!seen_[static_cast<std::size_t>(node_)], invalid_file, "found node {} again: expected it once", node_);
    seen_[static_cast<std::size_t>(node_)] = true;
  }

  void move_to(Dataset& data) {
    if (!labels_) start_classes();
    data.labels = std::move(labels_);
    data.classes = classes_;
  }

 private:
  void start_classes() {
    labels_ = Tensor::empty(Shape(nodes_), Dtype::i32, "labels");
    std::ranges::fill(labels_.span<std::int32_t>(), -1);
  }

  void single(std::int64_t value) override {
    WEFT_CHECK(!labels_ || labels_.shape().rank == 1, invalid_file,
               "found the class {} for node {} after lists for others: expected one kind", value, node_);
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max() - 1;
    WEFT_CHECK(value >= -1 && value <= most, invalid_file, "found the class {} for node {}: expected 0 to {}", value,
               node_, most);
    if (!labels_) start_classes();
    labels_.span<std::int32_t>()[static_cast<std::size_t>(node_)] = static_cast<std::int32_t>(value);
    classes_ = std::max(classes_, value + 1);
  }

  void list_begins() override {
    WEFT_CHECK(!labels_ || labels_.shape().rank == 2, invalid_file,
               "found a list for node {} after classes for others: expected one kind", node_);
    row_.clear();
  }
  void member(std::int64_t value) override {
    WEFT_CHECK(value == 0 || value == 1, invalid_file, "found {} in the list of node {}: expected 0 or 1", value,
               node_);
    row_.push_back(static_cast<float>(value));
  }
  void list_ends() override {
    if (!labels_) start_lists();
    const auto found = static_cast<std::int64_t>(row_.size());
    WEFT_CHECK(found == classes_, invalid_file, "found a list of {} for node {}: expected {}, as in the first list",
               found, node_, classes_);
    std::ranges::copy(row_, labels_.span<float>().begin() + node_ * classes_);
  }

  /// The first list says how many classes there are. A row of those that are not in the file costs it nothing, so most
  /// must be.
  void start_lists() {
    classes_ = static_cast<std::int64_t>(row_.size());
    WEFT_CHECK(classes_ > 0, invalid_file, "found an empty list for node {}: expected 0 and 1", node_);
    const std::int64_t most = std::max<std::int64_t>(std::int64_t{1} << 22, static_cast<std::int64_t>(file_bytes_));
    std::int64_t size = 0;
    const bool overflow = __builtin_mul_overflow(nodes_, classes_, &size);
    WEFT_CHECK(!overflow && size <= most, invalid_file,
               "found a list of {} for node {}: {} bytes cannot hold such lists for the {} nodes", classes_, node_,
               file_bytes_, nodes_);
    labels_ = Tensor::empty(Shape(nodes_, classes_), Dtype::f32, "labels");
    std::ranges::fill(labels_.span<float>(), std::numeric_limits<float>::quiet_NaN());
  }

  std::int64_t nodes_;
  std::size_t file_bytes_;
  std::vector<bool> seen_;
  std::int64_t node_ = -1;  // whose class comes next
  std::vector<float> row_;
  Tensor labels_;
  std::int64_t classes_ = 0;
};

/// {"tr": [...], "va": [...], "te": [...]}.
class Roles final : public ListsByName {
 public:
  explicit Roles(std::int64_t nodes)
      : ListsByName("lists of nodes by the names tr, va and te"),
        nodes_(nodes),
        seen_(static_cast<std::size_t>(nodes)) {}

  void key(const std::string& name) override {
    at_ = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
    WEFT_CHECK(at_ < names.size(), invalid_file, "found the name {}: expected tr, va and te", in_quotes(name));
    WEFT_CHECK(!given_[at_], invalid_file, "found {} again: expected it once", names[at_]);
    given_[at_] = true;
  }

  void move_to(Dataset& data) const {
    for (std::size_t i = 0; i < names.size(); ++i)
      WEFT_CHECK(given_[i], invalid_file, "it lacks {}: expected lists of nodes by the names tr, va and te", names[i]);
    data.train = tensor_of(lists_[0], "nodes of the train split");
    data.val = tensor_of(lists_[1], "nodes of the val split");
    data.test = tensor_of(lists_[2], "nodes of the test split");
  }

 private:
  static constexpr std::array<std::string_view, 3> names = {"tr", "va", "te"};

  void list_begins() override {}
  void list_ends() override {}
  void single(std::int64_t value) override { refuse(std::to_string(value)); }
  void member(std::int64_t value) override {
    WEFT_CHECK(value >= 0 && value < nodes_, invalid_file, "found {} in {}: expected a node, 0 to {}", value,
               names[at_], nodes_ - 1);
    WEFT_CHECK(!seen_[static_cast<std::size_t>(value)], invalid_file, "found node {} again in {}: expected it once",
               value, names[at_]);
    seen_[static_cast<std::size_t>(value)] = true;
    lists_[at_].push_back(static_cast<std::int32_t>(value));
  }

  std::int64_t nodes_;
  std::vector<bool> seen_;
  std::array<bool, 3> given_ = {};
  std::array<std::vector<std::int32_t>, 3> lists_;
  std::size_t at_ = 0;
};

bool sniff_graphsaint(const Folder& folder) { return folder.has("adj_full.npz") || folder.has("raw/adj_full.npz"); }

Dataset read_graphsaint(const Folder& given, const ReadOptions& options) {
  const Folder folder = given.has("adj_full.npz") ? given : given.below("raw");
  Dataset data;
  data.name = given.name();
  folder.with_file("adj_full.npz", options.progress,
                   [&](const Source& source) { data.graph = read_adjacency(source, options.progress); });
  if (options.graph_only) return data;
  const std::int64_t nodes = data.num_nodes();
  folder.with_file("feats.npy", options.progress, [&](const Source& source) {
    data.features = read_npy_matrix(source, options.progress);
    WEFT_CHECK(data.features.shape().rows == nodes, invalid_file, "it has {} rows: expected one for each of {} nodes",
               data.features.shape().rows, nodes);
  });
  folder.with("class_map.json", options.progress, [&](const Source& source) {
    ClassMap classes(nodes, source.bytes.size());
    read_json(source.text(), classes, options.progress);
    classes.move_to(data);
  });
  folder.with("role.json", options.progress, [&](const Source& source) {
    Roles roles(nodes);
    read_json(source.text(), roles, options.progress);
    roles.move_to(data);
  });
  return data;
}

}  // namespace

const Format& graphsaint_format() {
  static const Format format{.name = "graphsaint",
                             .description = "GraphSAINT's files (adj_full.npz, feats.npy, ...)",
                             .sniff_folder = &sniff_graphsaint,
                             .read_folder = &read_graphsaint};
  return format;
}

}  // namespace weft::io
