#include "data_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "adding.hpp"
#include "class_titles.hpp"
#include "core/check.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "text.hpp"

namespace weft::tool {
namespace {

std::uint64_t parse_seed(const std::string& text) {
  if (text.empty()) return 0;
  return static_cast<std::uint64_t>(parse_count("--split-seed", text, 0, std::numeric_limits<std::int64_t>::max()));
}

std::string size_of_split(const Tensor& split) { return split ? grouped(split.shape().rows) : "none"; }

}  // namespace

void DataOptions::add_to(CLI::App& given, const char* group) {
  Adding app(given);
  direction_.add_to(given, group);
  app.add_option("--features", parts_.features,
                 "identity (one column per node), degree (log of 1 + in-degree), constant (1), or a file with a row a "
                 "node: .npy, .npz, .csv (docs/own-data.md)")
      ->type_name("WHAT")
      ->group(group);
  app.add_option("--labels", parts_.labels,
                 "A file of labels: .npy, or .csv with the columns node and label; none: leave the data's out")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--masks", parts_.masks,
                 "A file of splits: .npz with train_mask, val_mask, test_mask (or train_idx, ...), or .csv with the "
                 "columns node and split")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--split", split_,
                 "Draw the splits: random:TRAIN,VAL,TEST in fractions of the labelled nodes, or "
                 "stratified:TRAIN_PER_CLASS,VAL,TEST in nodes, as random:0.6,0.2,0.2 and stratified:20,500,1000")
      ->type_name("SPEC")
      ->group(group);
  app.add_option("--split-seed", split_seed_, "Of --split (default 0)")->type_name("N")->group(group);
}

void DataOptions::check() const {
  direction_.check();
  if (!split_.empty()) {
    if (!parts_.masks.empty()) throw UsageError("--masks and --split both say which nodes are for training: give one");
    as_usage("--split", [&] { return parse_split(split_); });
  } else if (!split_seed_.empty()) {
    throw UsageError("--split-seed: there is no --split to draw");
  }
  parse_seed(split_seed_);
}

bool DataOptions::reverse_edges_unless_told() {
  if (direction_.directed || direction_.undirected) return false;
  return direction_.undirected = true;
}

std::vector<std::string> DataOptions::apply(Dataset& dataset) const {
  std::vector<std::string> lines;
  if (direction_.directed) lines.emplace_back(directed_line);
  if (direction_.undirected) {  // as weft convert does it: degrees of features are those of both directions
    EdgeChanges edges(dataset);
    edges.merge_duplicates();
    edges.add_reverses();
    if (!dataset.note.empty()) dataset.note += edges.changes();
    lines = edges.lines();
  }
  std::vector<std::string> given = give(dataset);
  lines.insert(lines.end(), std::make_move_iterator(given.begin()), std::make_move_iterator(given.end()));
  return lines;
}

std::vector<std::string> DataOptions::give(Dataset& dataset) const {
  std::vector<std::string> lines;
  {
    ProgressBar bar;
    for (const std::string& note : attach(dataset, parts_, bar.callback())) lines.push_back("note     " + note);
  }
  // What the note says of features and splits is of those that the data had.
  if (any() && !dataset.note.empty()) dataset.note += "; then" + given();
  if (!parts_.features.empty())
    lines.push_back(fmt::format("features {}: {} a node", parts_.features, grouped(dataset.num_features())));
  if (parts_.labels == "none")
    lines.emplace_back("labels   none: those of the data are left out");
  else if (!parts_.labels.empty())
    lines.push_back(fmt::format("labels   {}: {} classes{}", parts_.labels, grouped(dataset.classes),
                                dataset.class_names ? " (" + class_list(dataset.class_names) + ")" : ""));
  const std::uint64_t seed = parse_seed(split_seed_);
  if (!split_.empty()) split_nodes(dataset, parse_split(split_), seed);
  if (has_splits())
    lines.push_back(fmt::format("splits   {}: train {}, val {}, test {}",
                                split_.empty() ? parts_.masks : fmt::format("{} (seed {})", split_, seed),
                                size_of_split(dataset.train), size_of_split(dataset.val), size_of_split(dataset.test)));
  return lines;
}

std::string DataOptions::command() const { return direction_.command() + given(); }

std::string DataOptions::given() const {
  std::string text;
  const std::pair<const char*, const std::string*> options[] = {{"--features", &parts_.features},
                                                                {"--labels", &parts_.labels},
                                                                {"--masks", &parts_.masks},
                                                                {"--split", &split_},
                                                                {"--split-seed", &split_seed_}};
  for (const auto& [option, value] : options)
    if (!value->empty()) text += fmt::format(" {} {}", option, *value);
  return text;
}

void check_learnable(const Dataset& dataset, const std::string& source) {
  constexpr const char* made_up = "--synthetic FEATURES,CLASSES makes some up";
  WEFT_CHECK(dataset.has_features(), invalid_argument,
             "'{}' has no features: give them with --features identity, degree, constant or a FILE; {}", source,
             made_up);
  WEFT_CHECK(static_cast<bool>(dataset.labels), invalid_argument,
             "'{}' has no labels: give them with --labels FILE; {}", source, made_up);
  WEFT_CHECK(dataset.classes > 0, invalid_argument,
             "'{}' has labels, but none of any node is known: give others with --labels FILE; {}", source, made_up);
  WEFT_CHECK(dataset.train && dataset.train.shape().rows > 0, invalid_argument,
             "'{}' has no nodes to train on: draw some with --split random:0.6,0.2,0.2 or --split "
             "stratified:20,500,1000, or name them with --masks FILE",
             source);
}

}  // namespace weft::tool
