#include "bench/table.hpp"

#include <fmt/format.h>

namespace weft::tool {
namespace {

constexpr std::size_t op_width = 24;  // "attention gatv2.backward"

}  // namespace

ResultTable::ResultTable(std::FILE* file, const TableOptions& options) : options_(options) {
  const bool host = options.device == DeviceKind::cpu;
  std::vector<Column> columns{{"graph", 18, Align::left}, {"op", op_width, Align::left}, {"width", 6}, {"dtype", 5}};
  if (host) columns.push_back({"threads", 7});
  if (options.policies) columns.push_back({"policy", 24, Align::left});
  if (options.samples)
    for (Column column : {Column{"edges per row", 11}, {"rate", 7}, {"sampled", 9}, {"sample us", 9}})
      columns.push_back(std::move(column));
  for (Column column : {Column{"median us", 10}, {"min us", 10}, {"GFLOP/s", 8}, {"GB/s", 7}})
    columns.push_back(std::move(column));
  if (!host) columns.push_back({"floor us", 9});
  columns.push_back({"x floor", 7});
  if (options.kind == OpKind::attention) columns.push_back({"x spmm", 7});
  if (options.linear)
    for (Column column : {Column{"as two us", 10}, {"speed-up", 8}}) columns.push_back(std::move(column));
  for (Column column : {Column{"plan us", 8}, {"verified", 8}}) columns.push_back(std::move(column));
  if (options.peers && host)
    for (const PeerLibrary& library : peer_libraries(options.device, options.kind)) {
      columns.push_back({library.name + " us", 10});
      columns.push_back({"speed-up", 8});
    }
  if (options.peers && !host)
    for (Column column : {Column{"best peer", 15, Align::left}, {"its us", 10}, {"speed-up", 8}})
      columns.push_back(std::move(column));
  table_ = std::make_unique<TextTable>(file, std::move(columns));
  table_->print_header();
}

void ResultTable::add(const Record& r) {
  const bool host = options_.device == DeviceKind::cpu;
  std::vector<std::string> cells{shortened(r.graph, 18), shortened(r.op + " " + r.variant, op_width),
                                 features_text(r.heads, r.width), std::string(name(r.dtype))};
  if (host) cells.push_back(fmt::format("{}", r.threads));
  if (options_.policies) cells.push_back(r.policy.empty() ? "auto" : shortened(r.policy, 24));
  if (options_.samples) {
    const bool all = !r.sample || r.sample->width == 0;
    cells.push_back(all ? "all" : std::to_string(r.sample->width));
    cells.push_back(all ? "" : fmt::format("{:.1f}%", 100 * r.sample->rate));
    cells.push_back(all ? "" : r.sample->by_operator ? "by op" : "before");
    cells.push_back(all || r.sample->by_operator ? "" : fmt::format("{:.1f}", r.sample->us));
  }
  if (r.right()) {
    const auto or_dash = [](double value, int digits) {
      return value > 0 ? fmt::format("{:.{}f}", value, digits) : "-";
    };
    for (const double value : {r.median_us, r.min_us}) cells.push_back(fmt::format("{:.1f}", value));
    for (const double value : {r.gflops, r.gathered_gb_s}) cells.push_back(or_dash(value, 2));
    if (!host) cells.push_back(or_dash(r.floor_us, 1));
    cells.push_back(or_dash(r.floor_ratio, 2));
    if (options_.kind == OpKind::attention) cells.push_back(or_dash(r.spmm_ratio, 2));
    if (options_.linear) cells.insert(cells.end(), {or_dash(r.two_us, 1), or_dash(r.two_ratio, 2)});
    cells.push_back(or_dash(r.plan_us, 1));
    cells.push_back("yes");
  } else {
    const std::string what = r.failure ? "failed" : "WRONG";
    cells.insert(cells.end(), {what, "-", "-", "-", "-", "-", what});
    if (!host) cells.insert(cells.end() - 1, "-");
    if (options_.kind == OpKind::attention) cells.insert(cells.end() - 1, "-");
    if (options_.linear) cells.insert(cells.end() - 1, {"-", "-"});
  }
  if (options_.peers && host) add_host_peers(r, cells);
  if (options_.peers && !host) add_best_peer(r, cells);
  table_->print_row(cells);
}

void ResultTable::add_host_peers(const Record& r, std::vector<std::string>& cells) const {
  for (const PeerRecord& peer : r.peers) {
    const bool timed = r.right() && peer.status == "ok";
    cells.push_back(timed                     ? fmt::format("{:.1f}", peer.median_us)
                    : peer.status == "wrong"  ? "WRONG"
                    : peer.status == "failed" ? "failed"
                                              : "-");
    cells.push_back(timed ? fmt::format("{:.2f}x", peer.speedup) : "-");
  }
}

void ResultTable::add_best_peer(const Record& r, std::vector<std::string>& cells) const {
  const PeerRecord* best = r.right() ? best_peer(r) : nullptr;
  if (best == nullptr)
    cells.insert(cells.end(), {"-", "-", "-"});
  else
    cells.insert(cells.end(),
                 {best->name, fmt::format("{:.1f}", best->median_us), fmt::format("{:.2f}x", best->speedup)});
}

void print_peers(std::FILE* file, const std::vector<Record>& records) {
  bool any = false;
  for (const Record& record : records) any = any || !record.peers.empty();
  if (!any) return;
  print_line(file, "");
  TextTable table(file, {{"graph", 18, Align::left},
                         {"width", 6},
                         {"dtype", 5},
                         {"peer", 15, Align::left},
                         {"median us", 10},
                         {"min us", 10},
                         {"prepare us", 10},
                         {"speed-up", 8},
                         {"", 0, Align::left}});
  table.print_header();
  for (const Record& r : records)
    for (const PeerRecord& peer : r.peers) {
      std::vector<std::string> cells{shortened(r.graph, 18), features_text(r.heads, r.width),
                                     std::string(name(r.dtype)), peer.name};
      if (peer.status == "ok" && r.right())
        cells.insert(cells.end(), {fmt::format("{:.1f}", peer.median_us), fmt::format("{:.1f}", peer.min_us),
                                   fmt::format("{:.1f}", peer.prepare_us), fmt::format("{:.2f}x", peer.speedup), ""});
      else
        cells.insert(cells.end(), {"-", "-", "-", "-", peer.status + (peer.detail.empty() ? "" : ": " + peer.detail)});
      table.print_row(cells);
    }
}

}  // namespace weft::tool
