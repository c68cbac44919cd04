#include "bench/fresh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/timing.hpp"
#include "text.hpp"

namespace weft::tool {
namespace {

// One subgraph is a small part of the answer: a part of its rows proves enough.
constexpr double verified_work = 3e6;

/// One method on one subgraph.
struct Entrant {
  std::size_t method = 0;
  std::function<void()> prepare, run;
  double fresh_us = 0, run_us = 0;
};

/// The times of every method over the subgraphs so far.
struct Times {
  std::vector<double> fresh, run;
};

class FreshRun {
 public:
  FreshRun(Context& context, const Setup& setup, const std::vector<NamedPolicy>& policies, const FreshOptions& options)
      : context_(context), kind_(setup.desc.kind), options_(options) {
    for (const NamedPolicy& named : policies) {
      setups_.push_back(setup);
      setups_.back().policy = named.policy;
      add_method(named.text.empty() ? "weft" : fmt::format("weft {}", named.text));
    }
    if (options.run.peers)
      for (const PeerLibrary& library : peer_libraries(context.device().kind, setup.desc.kind))
        add_method(library.name);
  }

  void add(const Subgraph& subgraph) {
    const PlacedGraph graph(context_, subgraph.graph);
    std::vector<std::unique_ptr<Workload>> workloads;
    for (const Setup& setup : setups_) workloads.push_back(make_workload(context_, graph.there, setup));
    Workload& first = *workloads.front();
    const Sample sample =
        Sample::of(first.reduced_over(graph.host), first.features_an_edge(), verified_work, verified_work);
    const Reference reference = first.reference(sample);
    std::vector<Entrant> entrants;
    for (std::size_t i = 0; i < workloads.size(); ++i) {
      Workload& workload = *workloads[i];
      const Setup& setup = setups_[i];
      const auto plan = [this, &graph, &workload, &setup] { workload.plan_once(context_, graph.there, setup); };
      enter(entrants, reference, workload, {i, plan, [&workload] { workload.run(); }},
            [&workload] { return workload.result().view().data; });
    }
    if (entrants.empty() || entrants.front().method != 0) return;  // weft is wrong here: nothing to compare with
    std::vector<std::unique_ptr<Peer>> peers;
    if (options_.run.peers) enter_peers(entrants, peers, first, reference);
    time(entrants);
    keep(subgraph, entrants);
  }

  FreshRecord finish() {
    record_.repeat = repeat();
    for (std::size_t i = 0; i < times_.size(); ++i) {
      FreshMethod& method = record_.methods[i];
      method.graphs = static_cast<std::int64_t>(times_[i].fresh.size());
      method.fresh_us = geometric_mean_of(times_[i].fresh);
      method.run_us = geometric_mean_of(times_[i].run);
    }
    std::vector<double> ratios, run_ratios;
    for (const FreshGraph& g : record_.subgraphs)
      if (!g.best.empty()) {
        ratios.push_back(g.best_us / g.weft_us);
        run_ratios.push_back(g.best_run_us / g.weft_run_us);
      }
    record_.speedup = geometric_mean_of(ratios);
    record_.run_speedup = geometric_mean_of(run_ratios);
    return std::move(record_);
  }

 private:
  int repeat() const { return options_.run.repeat > 0 ? options_.run.repeat : 7; }

  void add_method(std::string name) {
    record_.methods.push_back({std::move(name), 0, 0, 0, ""});
    times_.emplace_back();
  }

  // Right results enter; of the others the method's line says what was wrong first. A result is shaped as `like`'s.
  void enter(std::vector<Entrant>& entrants, const Reference& reference, Workload& like, Entrant entrant,
             const std::function<const void*()>& result) {
    const std::size_t method = entrant.method;
    std::string& trouble = record_.methods[method].trouble;
    const auto say = [&](const std::string& what) {
      if (trouble.empty()) trouble = what;
    };
    try {
      entrant.prepare();
      entrant.run();
      context_.synchronise();
      ConstTensorView view = like.result().view();
      view.data = result();
      const Verification verification = reference.compare(context_, view);
      if (verification.right) {
        entrants.push_back(std::move(entrant));
        return;
      }
      say("wrong: " + verification.first_wrong);
      if (method < setups_.size() && record_.wrong++ == 0) record_.first_wrong = verification.first_wrong;
    } catch (const Error& error) {
      if (method < setups_.size()) throw;
      say((error.code() == ErrorCode::unsupported ? "unsupported: " : "failed: ") + std::string(error.what()));
    }
  }

  void enter_peers(std::vector<Entrant>& entrants, std::vector<std::unique_ptr<Peer>>& peers, Workload& workload,
                   const Reference& reference) {
    const std::optional<PeerProblem> problem = workload.for_peers();
    if (!problem) return;
    std::size_t method = setups_.size();
    for (const PeerLibrary& library : peer_libraries(context_.device().kind, kind_)) {
      const std::size_t mine = method++;
      try {
        peers.push_back(library.make(*problem));
      } catch (const Error& error) {
        if (record_.methods[mine].trouble.empty()) record_.methods[mine].trouble = error.what();
        continue;
      }
      Peer* peer = peers.back().get();
      if (peer == nullptr) continue;
      enter(entrants, reference, workload, {mine, [peer] { peer->prepare(); }, [peer] { peer->run(); }},
            [peer] { return peer->result(); });
    }
  }

  void time(std::vector<Entrant>& entrants) {
    std::vector<Contestant> contestants;
    for (const Entrant& e : entrants) {
      contestants.push_back({[&e] {
                               e.prepare();
                               e.run();
                             },
                             {}});
      contestants.push_back({e.run, {}});
    }
    TimingOptions timing;
    timing.repeat = repeat();
    time_in_turns(*make_fresh_timer(context_), contestants, timing);
    for (std::size_t i = 0; i < entrants.size(); ++i) {
      entrants[i].fresh_us = median_of(contestants[2 * i].microseconds);
      entrants[i].run_us = median_of(contestants[2 * i + 1].microseconds);
      times_[entrants[i].method].fresh.push_back(entrants[i].fresh_us);
      times_[entrants[i].method].run.push_back(entrants[i].run_us);
    }
  }

  void keep(const Subgraph& subgraph, const std::vector<Entrant>& entrants) {
    FreshGraph g;
    g.sampler = subgraph.sampler;
    g.nodes = subgraph.graph.num_rows();
    g.edges = subgraph.graph.num_edges();
    g.weft_us = entrants.front().fresh_us;
    g.weft_run_us = entrants.front().run_us;
    for (const Entrant& e : entrants) {
      if (e.method < setups_.size()) continue;
      if (g.best.empty() || e.run_us < g.best_run_us) g.best_run_us = e.run_us;
      if (g.best.empty() || e.fresh_us < g.best_us) {
        g.best_us = e.fresh_us;
        g.best = record_.methods[e.method].name;
      }
    }
    record_.subgraphs.push_back(std::move(g));
  }

  Context& context_;
  OpKind kind_;
  std::vector<Setup> setups_;  // one a policy
  const FreshOptions& options_;
  FreshRecord record_;
  std::vector<Times> times_;  // as record_.methods
};

}  // namespace

FreshRecord run_fresh(Context& context, const Graph& graph, const Setup& setup,
                      const std::vector<NamedPolicy>& policies, const FreshOptions& options) {
  FreshRun run(context, setup, policies, options);
  for (std::int64_t i = 0; i < options.count; ++i) {
    if (options.run.progress) options.run.progress("subgraphs", i, options.count);
    run.add(draw_subgraph(graph, options.seed, i));
  }
  FreshRecord record = run.finish();
  record.op = name(setup.desc.kind);
  record.variant = setup.variant();
  record.width = setup.desc.width;
  record.heads = setup.desc.heads;
  record.dtype = setup.desc.dtype;
  record.seed = options.seed;
  return record;
}

nlohmann::json to_json(const FreshRecord& r) {
  using nlohmann::json;
  json methods = json::array(), subgraphs = json::array();
  for (const FreshMethod& m : r.methods) {
    json method = {{"name", m.name}, {"subgraphs", m.graphs}};
    if (m.graphs > 0) method.update({{"fresh_us", m.fresh_us}, {"run_us", m.run_us}});
    if (!m.trouble.empty()) method["trouble"] = m.trouble;
    methods.push_back(std::move(method));
  }
  for (const FreshGraph& g : r.subgraphs) {
    json subgraph = {{"sampler", name(g.sampler)},
                     {"nodes", g.nodes},
                     {"edges", g.edges},
                     {"weft_us", g.weft_us},
                     {"weft_run_us", g.weft_run_us}};
    if (!g.best.empty())
      subgraph.update({{"best_peer", g.best}, {"best_peer_us", g.best_us}, {"best_peer_run_us", g.best_run_us}});
    subgraphs.push_back(std::move(subgraph));
  }
  json out = {
      {"graph", r.graph},       {"op", r.op},     {"variant", r.variant}, {"width", r.width}, {"heads", r.heads},
      {"dtype", name(r.dtype)}, {"seed", r.seed}, {"repeat", r.repeat},   {"wrong", r.wrong}, {"methods", methods},
      {"subgraphs", subgraphs}};
  if (!r.note.empty()) out["note"] = r.note;
  if (!r.first_wrong.empty()) out["first_wrong"] = r.first_wrong;
  if (r.speedup > 0) out.update({{"speedup", r.speedup}, {"run_speedup", r.run_speedup}});
  return out;
}

void print_fresh(std::FILE* file, const std::vector<FreshRecord>& records) {
  TextTable table(file, {{"graph", 18, Align::left},
                         {"op", 20, Align::left},
                         {"width", 6},
                         {"dtype", 5},
                         {"method", 24, Align::left},
                         {"subgraphs", 9},
                         {"fresh us", 10},
                         {"run us", 10},
                         {"speed-up", 8},
                         {"of runs", 8},
                         {"", 0, Align::left}});
  table.print_header();
  for (const FreshRecord& r : records) {
    const std::vector<std::string> head{shortened(r.graph, 18), shortened(r.op + " " + r.variant, 20),
                                        features_text(r.heads, r.width), std::string(name(r.dtype))};
    const auto row = [&](std::vector<std::string> cells) {
      cells.insert(cells.begin(), head.begin(), head.end());
      table.print_row(cells);
    };
    for (const FreshMethod& m : r.methods)
      row({m.name, fmt::format("{}", m.graphs), m.graphs > 0 ? fmt::format("{:.1f}", m.fresh_us) : "-",
           m.graphs > 0 ? fmt::format("{:.1f}", m.run_us) : "-", "", "", m.trouble});
    if (r.speedup > 0)
      row({"best peer of each", "", "", "", fmt::format("{:.2f}x", r.speedup), fmt::format("{:.2f}x", r.run_speedup),
           ""});
  }
}

}  // namespace weft::tool
