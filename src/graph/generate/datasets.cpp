#include "graph/generate/datasets.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/names.hpp"

namespace weft::generator {
namespace {

struct Powerlaw {
  double exponent;
  std::int64_t max_degree;
  std::int64_t communities;
  double inside;
  bool shuffled = true;
};
struct Rmat {
  int scale;
  double edge_factor;  // drawn per node: a little above the published ratio, as duplicates are dropped
};
struct Lattice {};
struct Molecules {
  int min_atoms, max_atoms, max_bonds, ring_from, ring_to;
};

struct Dataset {
  KnownDataset known;
  std::variant<Powerlaw, Rmat, Lattice, Molecules> shape;
};

constexpr std::string_view hp = "HP-SpMM, Table II";
constexpr std::string_view one = "GNNOne, Table 1";
constexpr std::string_view hc = "HC-SpMM, Table II";

// Shapes by kind of graph. Citations and co-authors: steep tails, strong communities. Social and
// talk: heavy tails, weaker communities. Web crawls: heavy tails, hosts with neighbouring ids.
// Knowledge graphs: a few very large hubs. Proteins and drugs: dense, mild tails. Collections of
// small graphs: molecules, or communities that no edge leaves (inside = 1, max_degree below their size).
constexpr Molecules small_molecule{10, 39, 4, 4, 5};
constexpr auto datasets = std::to_array<Dataset>({
    {{"aifb", 7'262, 44'298, hp}, Powerlaw{2.3, 700, 40, 0.6}},
    {{"am", 881'680, 7'141'524, hp}, Powerlaw{2.3, 50'000, 1'000, 0.6}},
    {{"amazon-0312", 400'727, 6'400'880, one}, Powerlaw{2.8, 2'700, 2'000, 0.85}},
    {{"amazon-0505", 410'236, 3'356'824, hc}, Powerlaw{2.8, 2'700, 2'000, 0.85}},
    {{"amazon-computer", 13'752, 505'474, hp}, Powerlaw{2.3, 2'900, 20, 0.7}},
    {{"amazon-photo", 7'650, 245'812, hp}, Powerlaw{2.3, 1'400, 16, 0.7}},
    {{"amazon-saint", 1'598'960, 264'339'468, hp}, Powerlaw{2.1, 30'000, 500, 0.8}},
    {{"arxiv", 169'343, 2'484'941, hp}, Powerlaw{2.3, 13'160, 169, 0.7}},
    {{"as-skitter", 1'696'415, 22'190'596, one}, Powerlaw{2.2, 35'000, 1'500, 0.6}},
    {{"bgs", 94'806, 656'226, hp}, Powerlaw{2.3, 6'000, 300, 0.6}},
    {{"cit-patents", 3'774'768, 33'037'894, one}, Powerlaw{2.8, 800, 4'000, 0.75}},
    {{"citeseer", 3'327, 9'104, one}, Powerlaw{2.9, 100, 33, 0.8}},
    {{"coauthor-cs", 18'333, 163'788, hp}, Powerlaw{2.7, 136, 90, 0.8}},
    {{"coauthor-physics", 34'493, 530'417, hp}, Powerlaw{2.6, 380, 120, 0.8}},
    {{"collab", 235'868, 2'171'132, hp}, Powerlaw{2.7, 670, 1'000, 0.8}},
    {{"cora", 2'708, 10'858, one}, Powerlaw{2.9, 168, 27, 0.8}},
    {{"corafull", 19'793, 146'635, hp}, Powerlaw{2.7, 300, 70, 0.8}},
    {{"dbpedia", 18'268'981, 172'183'984, hc}, Powerlaw{2.1, 600'000, 5'000, 0.5}},
    {{"dd", 334'925, 1'686'092, hc}, Molecules{30, 538, 12, 2, 9}},
    {{"ddi", 4'267, 2'140'089, hp}, Powerlaw{2.6, 2'200, 4, 0.5}},
    {{"flickr", 89'250, 989'006, hp}, Powerlaw{2.4, 5'400, 90, 0.6}},
    {{"github", 1'448'038, 5'971'562, hc}, Powerlaw{2.3, 100, 12'725, 1, false}},
    {{"hollywood-09", 1'069'127, 112'613'308, one}, Powerlaw{2.2, 11'400, 800, 0.85}},
    {{"kmer-p1a", 139'353'211, 297'829'982, one}, Lattice{}},
    {{"kron-21", 2'097'152, 67'108'864, one}, Rmat{21, 33.87}},
    {{"livejournal", 4'847'571, 137'987'546, one}, Powerlaw{2.4, 20'000, 5'000, 0.75}},
    {{"mutag", 27'163, 173'037, hp}, Powerlaw{2.3, 2'000, 100, 0.6}},
    {{"orkut", 3'072'627, 234'370'166, one}, Powerlaw{2.4, 33'000, 2'000, 0.7}},
    {{"ovcar", 1'889'542, 3'946'402, hc}, small_molecule},
    {{"ppa", 576'289, 43'040'151, hp}, Powerlaw{2.4, 3'200, 300, 0.8}},
    {{"products", 2'449'029, 123'718'280, one}, Powerlaw{2.1, 17'400, 816, 0.85}},
    {{"proteins", 132'534, 79'255'038, hp}, Powerlaw{2.4, 7'700, 40, 0.8}},
    {{"proteins-tu", 43'471, 162'088, hc}, Molecules{10, 68, 8, 2, 6}},
    {{"pubmed", 19'717, 88'648, one}, Powerlaw{2.6, 171, 60, 0.8}},
    {{"reddit", 232'965, 114'848'857, hp}, Powerlaw{1.9, 20'000, 47, 0.75}},
    {{"reddit-threads", 4'859'280, 10'149'830, hc}, Powerlaw{2.0, 22, 203'088, 1, false}},
    {{"roadnet-ca", 1'971'279, 11'066'420, one}, Lattice{}},
    {{"sx-stackoverflow", 2'601'977, 95'806'532, one}, Powerlaw{2.0, 44'000, 500, 0.4}},
    {{"twitch", 3'771'081, 22'011'034, hc}, Powerlaw{2.3, 28, 127'094, 1, false}},
    {{"uk-2002", 18'520'486, 596'227'524, one}, Powerlaw{2.1, 190'000, 18'000, 0.9, false}},
    {{"uk-2005", 39'459'925, 1'872'728'564, one}, Powerlaw{2.1, 1'700'000, 40'000, 0.9, false}},
    {{"web-berkstan", 685'230, 15'201'173, one}, Powerlaw{2.1, 84'000, 700, 0.9, false}},
    {{"wiki-talk", 2'394'385, 10'042'820, one}, Powerlaw{2.0, 100'000, 100, 0.3}},
    {{"yeast", 1'710'902, 3'636'546, hc}, small_molecule},
    {{"yeasth", 3'138'114, 6'487'230, hc}, small_molecule},
    {{"yelp", 716'847, 13'954'819, hp}, Powerlaw{2.3, 4'900, 700, 0.7}},
});

const Dataset& find(std::string_view name) {
  const auto at =
      std::find_if(datasets.begin(), datasets.end(), [&](const Dataset& d) { return d.known.name == name; });
  if (at != datasets.end()) return *at;
  std::vector<std::string_view> names;
  for (const Dataset& d : datasets) names.push_back(d.known.name);
  fail_unknown("like: dataset", name, names);
}

struct ShapeOf {
  const KnownDataset& known;
  std::uint64_t seed;

  StandIn operator()(const Powerlaw& p) const {
    return PowerlawSpec{.nodes = known.nodes,
                        .edges = known.edges,
                        .exponent = p.exponent,
                        .max_degree = static_cast<double>(p.max_degree),
                        .communities = p.communities,
                        .inside = p.inside,
                        .shuffled = p.shuffled,
                        .seed = seed};
  }
  StandIn operator()(const Rmat& r) const {
    RmatSpec spec;
    spec.scale = r.scale;
    spec.edge_factor = r.edge_factor;
    spec.seed = seed;
    return spec;
  }
  StandIn operator()(const Lattice&) const { return LatticeShape{known.nodes, known.edges, seed}; }
  StandIn operator()(const Molecules& m) const {
    MoleculesShape shape{known.nodes, 0, m.min_atoms, m.max_atoms, m.max_bonds, m.ring_from, m.ring_to, seed};
    const std::int64_t tree_bonds = known.nodes - count_molecules(shape);
    shape.rings = std::max<std::int64_t>(known.edges / 2 - tree_bonds, 0);
    return shape;
  }
};

}  // namespace

KnownDataset find_dataset(std::string_view name) { return find(name).known; }

StandIn stand_in(std::string_view name, std::uint64_t seed) {
  const Dataset& dataset = find(name);
  return std::visit(ShapeOf{dataset.known, seed}, dataset.shape);
}

Graph generate_stand_in(const StandIn& shape, const Progress& progress) {
  struct Generate {
    const Progress& progress;
    Graph operator()(const LatticeShape& s) const { return generate_lattice(s, progress); }
    Graph operator()(const MoleculesShape& s) const { return generate_molecules(s, progress); }
    Graph operator()(const PowerlawSpec& s) const { return generate(s, progress); }
    Graph operator()(const RmatSpec& s) const { return generate(s, progress); }
  };
  return std::visit(Generate{progress}, shape);
}

}  // namespace weft::generator

namespace weft {

std::vector<KnownDataset> known_datasets() {
  std::vector<KnownDataset> known;
  for (const generator::Dataset& d : generator::datasets) known.push_back(d.known);
  return known;
}

}  // namespace weft
