// KIND:key=value,... and back. One table a kind says which keys there are; parsing, the error that
// lists them and the canonical text all read it.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/check.hpp"
#include "graph/generate/datasets.hpp"
#include "graph/generate/options.hpp"
#include "graph/generate/powerlaw.hpp"
#include "graph/generate/spec.hpp"
#include "weft/generate.hpp"

namespace weft {
namespace {

using namespace generator;

Fields fields(RmatSpec& s) {
  return {{"scale", &s.scale}, {"edge_factor", &s.edge_factor}, {"a", &s.a}, {"b", &s.b}, {"c", &s.c},
          {"seed", &s.seed}};
}
Fields fields(PowerlawSpec& s) {
  return {{"nodes", &s.nodes},
          {"edges", &s.edges},
          {"exponent", &s.exponent},
          {"max_degree", &s.max_degree},
          {"communities", &s.communities},
          {"inside", &s.inside},
          {"shuffled", &s.shuffled},
          {"seed", &s.seed}};
}
Fields fields(GridSpec& s) { return {{"side", &s.side}}; }
Fields fields(MoleculesSpec& s) { return {{"nodes", &s.nodes}, {"seed", &s.seed}}; }
Fields fields(UniformSpec& s) { return {{"nodes", &s.nodes}, {"edges", &s.edges}, {"seed", &s.seed}}; }
Fields fields(StarSpec& s) { return {{"nodes", &s.nodes}}; }

struct LikeOptions {
  std::uint64_t seed = 1;
};
Fields fields(LikeOptions& s) { return {{"seed", &s.seed}}; }

template <class Spec>
Generated generate_from(std::string_view kind, std::string_view options, const Progress& progress) {
  Spec spec;
  parse_options(kind, options, fields(spec));
  if constexpr (std::is_same_v<Spec, PowerlawSpec>) spec = resolved(spec);
  return {generate(spec, progress), canonical(kind, fields(spec))};
}

template <class Spec>
std::string default_form(std::string_view kind) {
  Spec spec;
  return canonical(kind, fields(spec));
}

// 1234567 as 1,234,567.
std::string grouped(std::int64_t value) {
  std::string text = std::to_string(value);
  for (auto at = static_cast<std::int64_t>(text.size()) - 3; at > 0; at -= 3) text.insert(at, 1, ',');
  return text;
}

Generated generate_like(std::string_view, std::string_view text, const Progress& progress) {
  const std::size_t comma = text.find(',');
  const KnownDataset known = find_dataset(text.substr(0, comma));
  LikeOptions options;
  if (comma != text.npos) {
    WEFT_CHECK(comma + 1 < text.size(), invalid_argument, "like: nothing follows the comma in '{}': expected seed=N",
               text);
    parse_options("like", text.substr(comma + 1), fields(options));
  }
  return {
      generate_stand_in(stand_in(known.name, options.seed), progress),
      fmt::format("synthetic stand-in for {} (published counts: {} nodes, {} edges, {}); degrees and communities are "
                  "made up; like:{},seed={}",
                  known.name, grouped(known.nodes), grouped(known.edges), known.source, known.name, options.seed)};
}

struct Kind {
  std::string_view name;
  Generated (*make)(std::string_view kind, std::string_view options, const Progress& progress);
  std::string (*form)(std::string_view kind);
};
template <class Spec>
constexpr Kind kind_of(std::string_view name) {
  return {name, generate_from<Spec>, default_form<Spec>};
}
constexpr auto kinds =
    std::to_array<Kind>({kind_of<RmatSpec>("rmat"),
                         kind_of<PowerlawSpec>("powerlaw"),
                         kind_of<GridSpec>("grid"),
                         kind_of<MoleculesSpec>("molecules"),
                         kind_of<UniformSpec>("uniform"),
                         kind_of<StarSpec>("star"),
                         {"like", generate_like, [](std::string_view kind) { return std::string(kind) + ":NAME"; }}});

const Kind* find_kind(std::string_view spec) {
  const std::size_t colon = spec.find(':');
  for (const Kind& kind : kinds)
    if (colon != spec.npos && spec.substr(0, colon) == kind.name) return &kind;
  return nullptr;
}

}  // namespace

std::vector<generator::KindForm> generator::kind_forms() {
  std::vector<KindForm> forms;
  for (const Kind& kind : kinds) forms.push_back({kind.name, kind.form(kind.name)});
  return forms;
}

Generated generate(std::string_view spec, const Progress& progress) {
  const Kind* kind = find_kind(spec);
  if (kind == nullptr) {
    std::string names;
    for (const Kind& k : kinds) names.append(names.empty() ? "" : ", ").append(k.name);
    fail(ErrorCode::invalid_argument, "'{}' names no generator: expected KIND:key=value,... with KIND one of {}", spec,
         names);
  }
  return kind->make(kind->name, spec.substr(kind->name.size() + 1), progress);
}

bool is_generator_spec(std::string_view text) { return find_kind(text) != nullptr; }

}  // namespace weft
