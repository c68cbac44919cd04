#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <tuple>

#include "core/parallel.hpp"
#include "plan/partition.hpp"
#include "support/graphs.hpp"
#include "support/small_graphs.hpp"

namespace weft::test {
namespace {

constexpr ScheduleKind schedules[] = {ScheduleKind::rows, ScheduleKind::edge_split};

Partition partition_of(const Graph& graph, ScheduleKind schedule, std::int64_t tasks) {
  auto long_rows = std::make_shared<const LongRows>(find_long_rows(graph.view(), 2));
  return make_partition(graph.view(), schedule, tasks, long_rows);
}

std::vector<BatteryGraph> all_graphs() {
  std::vector<BatteryGraph> graphs = battery_graphs();
  graphs.push_back({"hub between empty rows", hub_graph(5 * piece_edges + 1)});
  graphs.push_back({"hub of whole pieces", hub_graph(4 * piece_edges)});
  graphs.push_back({"row of exactly one piece", hub_graph(piece_edges)});
  graphs.push_back({"skewed", skewed_graph(300, 30000, 111)});
  return graphs;
}

TEST(partition, visits_every_row_and_every_edge_once) {
  for (const BatteryGraph& battery : all_graphs()) {
    const GraphView view = battery.graph.view();
    for (const ScheduleKind schedule : schedules) {
      for (const std::int64_t tasks : {1, 2, 3, 7, 17, 64, 1000}) {
        SCOPED_TRACE(battery.name + " " + std::string(name(schedule)) + " tasks=" + std::to_string(tasks));
        const Partition partition = partition_of(battery.graph, schedule, tasks);
        ASSERT_EQ(partition.tasks(), tasks);
        std::vector<int> edge_visits(static_cast<std::size_t>(view.num_edges), 0);
        std::vector<int> whole_rows(static_cast<std::size_t>(view.num_rows), 0);
        std::vector<int> slot_visits(static_cast<std::size_t>(partition.long_rows->slots), 0);
        for (std::int64_t task = 0; task < tasks; ++task) {
          for (const weft::Run& run : partition.runs(view, task)) {
            const EdgeId begin = view.offsets[run.row], end = view.offsets[run.row + 1];
            ASSERT_LE(begin, run.begin);
            ASSERT_LE(run.end, end);
            for (EdgeId k = run.begin; k < run.end; ++k) ++edge_visits[static_cast<std::size_t>(k)];
            if (run.slot < 0) {
              EXPECT_EQ(run.begin, begin);
              EXPECT_EQ(run.end, end);
              ++whole_rows[static_cast<std::size_t>(run.row)];
            } else {
              EXPECT_GT(end - begin, piece_edges);
              EXPECT_EQ((run.begin - begin) % piece_edges, 0);
              EXPECT_EQ(run.end, std::min(run.begin + piece_edges, end));
              ++slot_visits[static_cast<std::size_t>(run.slot)];
            }
          }
        }
        EXPECT_TRUE(std::all_of(edge_visits.begin(), edge_visits.end(), [](int n) { return n == 1; }));
        EXPECT_TRUE(std::all_of(slot_visits.begin(), slot_visits.end(), [](int n) { return n == 1; }));
        for (std::int64_t row = 0; row < view.num_rows; ++row) {
          const bool is_long = view.offsets[row + 1] - view.offsets[row] > piece_edges;
          EXPECT_EQ(whole_rows[static_cast<std::size_t>(row)], is_long ? 0 : 1) << "row " << row;
        }
      }
    }
  }
}

TEST(partition, gives_slots_to_pieces_in_the_order_of_their_row) {
  for (const BatteryGraph& battery : all_graphs()) {
    const GraphView view = battery.graph.view();
    const Partition partition = partition_of(battery.graph, ScheduleKind::edge_split, 5);
    std::map<std::int64_t, std::pair<std::int64_t, EdgeId>> runs;  // slot -> row, first edge
    for (std::int64_t task = 0; task < 5; ++task)
      for (const weft::Run& run : partition.runs(view, task))
        if (run.slot >= 0) runs[run.slot] = {run.row, run.begin};
    std::pair<std::int64_t, EdgeId> before{-1, -1};
    for (const auto& [slot, place] : runs) {
      EXPECT_LT(before, place) << battery.name << " slot " << slot;
      before = place;
    }
  }
}

// However many tasks there are, theirs are the same runs in the same order: what the results of long rows rest on.
TEST(partition, cuts_adjacent_long_rows_into_the_same_runs_for_any_number_of_tasks) {
  using PlainRun = std::tuple<std::int64_t, EdgeId, EdgeId, std::int64_t>;  // row, begin, end, slot
  const std::vector<std::int64_t> degrees{1025, 2048, 2049, 3000, 1024, 0, 1025, 5000, 1024, 1024, 1026, 0};
  std::vector<PlainRun> expected;
  std::int64_t slots = 0;
  EdgeId edge = 0;
  for (std::size_t row = 0; row < degrees.size(); ++row) {
    const EdgeId end = edge + degrees[row];
    if (degrees[row] <= 1024) expected.emplace_back(row, edge, end, -1);
    for (EdgeId piece = edge; degrees[row] > 1024 && piece < end; piece += 1024)
      expected.emplace_back(row, piece, std::min<EdgeId>(piece + 1024, end), slots++);
    edge = end;
  }
  ASSERT_EQ(slots, 2 + 2 + 3 + 3 + 2 + 5 + 2);
  const Graph graph = battery::graph_of_degrees(degrees, 6, 114);
  for (const ScheduleKind schedule : schedules)
    for (const std::int64_t tasks : {1, 2, 3, 4, 5, 7, 8, 12, 13, 17, 19, 24, 64, 1000}) {
      const Partition partition = partition_of(graph, schedule, tasks);
      EXPECT_EQ(partition.long_rows->slots, slots);
      std::vector<PlainRun> runs;
      for (std::int64_t task = 0; task < tasks; ++task)
        for (const weft::Run& run : partition.runs(graph.view(), task))
          runs.emplace_back(run.row, run.begin, run.end, run.slot);
      EXPECT_EQ(runs, expected) << name(schedule) << " tasks=" << tasks;
    }
}

TEST(partition, finds_the_same_long_rows_for_any_number_of_threads) {
  const Graph graph = skewed_graph(300, 30000, 112);
  const LongRows one = find_long_rows(graph.view(), 1);
  for (const int threads : {2, 3, 5, 16}) {
    const LongRows many = find_long_rows(graph.view(), threads);
    ASSERT_EQ(many.rows.size(), one.rows.size());
    EXPECT_EQ(many.slots, one.slots);
    for (std::size_t i = 0; i < one.rows.size(); ++i) {
      EXPECT_EQ(many.rows[i].row, one.rows[i].row);
      EXPECT_EQ(many.rows[i].first_slot, one.rows[i].first_slot);
    }
  }
}

std::int64_t edges_of(const Partition& partition, const GraphView& view, std::int64_t task) {
  std::int64_t edges = 0;
  for (const weft::Run& run : partition.runs(view, task)) edges += run.end - run.begin;
  return edges;
}

TEST(partition, one_hub_row_is_shared_by_all_tasks) {
  const Graph graph = hub_graph(100'000);
  for (const std::int64_t tasks : {2, 4, 8, 16}) {
    const Partition partition = partition_of(graph, ScheduleKind::edge_split, tasks);
    for (std::int64_t task = 0; task < tasks; ++task) {
      const std::int64_t edges = edges_of(partition, graph.view(), task);
      EXPECT_LE(edges, 100'000 / tasks + 2 * piece_edges) << "task " << task << " of " << tasks;
      EXPECT_GE(edges, 100'000 / tasks - 2 * piece_edges) << "task " << task << " of " << tasks;
    }
  }
}

TEST(partition, edge_split_evens_out_edges_where_rows_alone_do_not) {
  const Graph graph = skewed_graph(2000, 80'000, 113);  // a quarter of the edges arrive at row 0
  const auto heaviest = [&](ScheduleKind schedule) {
    const Partition partition = partition_of(graph, schedule, 8);
    std::int64_t most = 0;
    for (std::int64_t task = 0; task < 8; ++task) most = std::max(most, edges_of(partition, graph.view(), task));
    return most;
  };
  EXPECT_LE(heaviest(ScheduleKind::edge_split), 10'000 + 2 * piece_edges);
  EXPECT_GE(heaviest(ScheduleKind::rows), 20'000);
}

TEST(partition, a_round_robin_run_gives_every_thread_its_share_of_a_star) {
  const Graph graph = hub_graph(200'000);
  constexpr int threads = 4;
  const Context context = Context::cpu(threads);
  const Plan plan = make_plan(context, graph, {OpKind::spmm, Dtype::f32, 1, 64, Reduce::sum, true},
                              parse_policy("schedule=edge_split,assignment=round_robin"));
  ASSERT_GE(plan.tasks, threads);
  std::vector<std::int64_t> work(threads, 0);
  parallel_tasks(
      threads, plan.tasks,
      [&](std::int64_t task, int thread) {
        for (const weft::Run& run : plan.backing.partition->runs(graph.view(), task))
          work[static_cast<std::size_t>(thread)] += run.end - run.begin;
      },
      TaskOrder::round_robin);
  EXPECT_EQ(std::accumulate(work.begin(), work.end(), std::int64_t{0}), 200'000);
  for (const std::int64_t edges : work) EXPECT_LE(edges, 200'000 / threads * 1.15);
}

}  // namespace
}  // namespace weft::test
