#include "graph/dataset/known_names.hpp"

#include <algorithm>
#include <array>

#include "core/check.hpp"
#include "core/names.hpp"
#include "weft/generate.hpp"

namespace weft::io {
namespace {

enum class Project { planetoid, reddit, ogb, graphsaint, tu, snap, gnn_benchmark };

struct Known {
  Project project;
  std::string_view name, also = {};
};
constexpr auto table = std::to_array<Known>({
    {Project::planetoid, "cora"},
    {Project::planetoid, "citeseer"},
    {Project::planetoid, "pubmed"},
    {Project::reddit, "reddit"},
    {Project::ogb, "ogbn-arxiv", "arxiv"},
    {Project::ogb, "ogbn-products", "products"},
    {Project::ogb, "ogbn-proteins"},  // not "proteins", which is one of TUDataset's
    {Project::ogb, "ogbn-papers100M", "papers100M-bin"},
    {Project::graphsaint, "flickr"},
    {Project::graphsaint, "yelp"},
    {Project::graphsaint, "ppi"},
    {Project::graphsaint, "ppi-large"},
    {Project::graphsaint, "amazon"},
    {Project::graphsaint, "amazon-saint", "amazon"},
    {Project::tu, "MUTAG"},
    {Project::tu, "PROTEINS"},
    {Project::tu, "ENZYMES"},
    {Project::tu, "AIDS"},
    {Project::tu, "COLLAB"},
    {Project::tu, "DD"},
    {Project::tu, "IMDB-BINARY"},
    {Project::tu, "IMDB-MULTI"},
    {Project::tu, "NCI1"},
    {Project::tu, "NCI109"},
    {Project::tu, "PTC_MR"},
    {Project::tu, "REDDIT-BINARY"},
    {Project::tu, "REDDIT-MULTI-5K"},
    {Project::tu, "REDDIT-MULTI-12K"},
    {Project::snap, "amazon0302"},
    {Project::snap, "amazon0312"},
    {Project::snap, "amazon0505"},
    {Project::snap, "amazon0601"},
    {Project::snap, "as-skitter"},
    {Project::snap, "ca-AstroPh"},
    {Project::snap, "ca-CondMat"},
    {Project::snap, "ca-GrQc"},
    {Project::snap, "ca-HepPh"},
    {Project::snap, "ca-HepTh"},
    {Project::snap, "cit-HepPh"},
    {Project::snap, "cit-HepTh"},
    {Project::snap, "cit-Patents"},
    {Project::snap, "com-Amazon", "com-amazon.ungraph"},
    {Project::snap, "com-DBLP", "com-dblp.ungraph"},
    {Project::snap, "com-Friendster", "com-friendster.ungraph"},
    {Project::snap, "com-LiveJournal", "com-lj.ungraph"},
    {Project::snap, "com-Orkut", "com-orkut.ungraph"},
    {Project::snap, "com-Youtube", "com-youtube.ungraph"},
    {Project::snap, "email-Enron"},
    {Project::snap, "email-Eu-core"},
    {Project::snap, "email-EuAll"},
    {Project::snap, "ego-Facebook", "facebook_combined"},
    {Project::snap, "ego-Twitter", "twitter_combined"},
    {Project::snap, "roadNet-CA"},
    {Project::snap, "roadNet-PA"},
    {Project::snap, "roadNet-TX"},
    {Project::snap, "soc-Epinions1"},
    {Project::snap, "soc-LiveJournal1"},
    {Project::snap, "soc-Pokec", "soc-pokec-relationships"},
    {Project::snap, "soc-Slashdot0811"},
    {Project::snap, "soc-Slashdot0902"},
    {Project::snap, "sx-stackoverflow"},
    {Project::snap, "web-BerkStan"},
    {Project::snap, "web-Google"},
    {Project::snap, "web-NotreDame"},
    {Project::snap, "web-Stanford"},
    {Project::snap, "wiki-Talk"},
    {Project::snap, "wiki-Vote"},
    {Project::gnn_benchmark, "cora_full"},
    {Project::gnn_benchmark, "amazon-photo", "amazon_electronics_photo"},
    {Project::gnn_benchmark, "amazon-computers", "amazon_electronics_computers"},
    {Project::gnn_benchmark, "coauthor-cs", "ms_academic_cs"},
    {Project::gnn_benchmark, "coauthor-physics", "ms_academic_phy"},
});

const Known* find(std::string_view name) {
  const auto at = std::ranges::find(table, plain_name(name), [](const Known& k) { return plain_name(k.name); });
  return at != table.end() ? &*at : nullptr;
}

std::string underscored(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '-', '_');
  return text;
}

std::string download(const Known& known, const std::string& folder) {
  const std::string_view name = known.name, published = known.also.empty() ? known.name : known.also;
  switch (known.project) {
    case Project::planetoid:
      return fmt::format("download data/ind.{}.* of github.com/kimiyoung/planetoid into {}/planetoid", name, folder);
    case Project::reddit:
      return fmt::format(
          "download reddit.zip, as DGL and PyG do (data.dgl.ai/dataset/reddit.zip), and unpack it in "
          "{}/reddit",
          folder);
    case Project::ogb:
      return fmt::format("download it from ogb.stanford.edu (node property prediction) and unpack it as {}/{}", folder,
                         underscored(name));
    case Project::graphsaint:
      return fmt::format(
          "download its folder '{}' from the data that github.com/GraphSAINT/GraphSAINT links to, and "
          "put it at {}/{}",
          published, folder, name);
    case Project::tu:
      return fmt::format("download {0}.zip of TUDataset (chrsmrrs.github.io/datasets) and unpack it as {1}/{0}", name,
                         folder);
    case Project::snap: return fmt::format("download {}.txt.gz of snap.stanford.edu/data into {}", published, folder);
    case Project::gnn_benchmark:
      return fmt::format("download data/npz/{}.npz of github.com/shchur/gnn-benchmark into {}", published, folder);
  }
  return "";
}

/// TUDataset's names mean other data there.
std::string stand_in(const Known& known) {
  std::string name = plain_name(known.name);
  if (name.starts_with("ogbn-")) name.erase(0, 5);
  if (known.project != Project::tu)
    for (const KnownDataset& like : known_datasets())
      if (like.name == name) return fmt::format("; like:{} makes a synthetic stand-in", name);
  return "";
}

}  // namespace

std::string plain_name(std::string_view name) {
  std::string plain = lower_case(name);
  std::ranges::replace(plain, '_', '-');
  return plain;
}

std::vector<std::string_view> known_names() {
  std::vector<std::string_view> names;
  for (const Known& known : table) names.push_back(known.name);
  return names;
}

std::string_view published_as(std::string_view name) {
  const Known* known = find(name);
  return known != nullptr ? known->also : std::string_view();
}

std::string where_to_get(std::string_view name, const std::string& folder) {
  const Known* known = find(name);
  return known != nullptr ? download(*known, folder) + stand_in(*known) : std::string();
}

}  // namespace weft::io
