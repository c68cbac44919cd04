// Plans: how an operator will run on one graph, decided before it runs. A plan is a value that can be
// printed, compared and explained; it knows the exact workspace its run needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "weft/context.hpp"
#include "weft/graph.hpp"
#include "weft/types.hpp"

namespace weft {

enum class OpKind : std::uint8_t { spmm, sddmm, spmv, softmax, attention, segment };
std::string_view name(OpKind kind);
OpKind parse_op_kind(std::string_view text);

/// Who works on which edges. `rows`: equal numbers of rows per task. `edge_split`: equal work per task, long rows cut
/// into pieces that an ordered pass unites.
enum class ScheduleKind : std::uint8_t { rows, edge_split };
std::string_view name(ScheduleKind kind);
ScheduleKind parse_schedule(std::string_view text);

/// On a CPU, which task a thread takes next: the next free one (dynamic), or every T-th (round_robin). On a GPU, which
/// edges of a tile in shared memory a group of threads takes: a run of them (consecutive), or every G-th (round_robin).
/// Either device's default may be spelled dynamic.
enum class Assignment : std::uint8_t { dynamic, round_robin, consecutive };
std::string_view name(Assignment assignment);

/// In which order a GPU works on the edges. `columns`: tasks that lie within one row by the column in their middle, so
/// that those which run together sweep the same sources. `clusters`: rows of one community after the other, for the
/// same reason (costs 8 to 12 bytes per edge and label propagation, once per graph). `clusters_columns`: both.
enum class WorkOrder : std::uint8_t { none, columns, clusters, clusters_columns };
std::string_view name(WorkOrder order);
WorkOrder parse_work_order(std::string_view text);

/// How a GPU gets sums of cut rows into the output: in the order of the tasks, or by atomic additions in any order.
/// Only with atomics may bits differ from run to run.
enum class Flush : std::uint8_t { ordered, atomic };
std::string_view name(Flush flush);

/// What sums of f16 and bf16 are added up in on a GPU: each message in float32, or (HalfGNN's discretised reduction)
/// the batches of edges between them in pairs of halves, scaled so that a batch does not overflow, and batches in
/// float32. Pairs take fewer instructions and keep to no error bound but their own.
enum class Accumulate : std::uint8_t { f32, half2 };
std::string_view name(Accumulate accumulate);

/// Who sums sampled edges on a GPU: the kernels of all other edges, or ES-SpMM's own (a row's sample in shared memory,
/// a thread an output element), to compare with.
enum class SampleKernel : std::uint8_t { usual, cache_first };
std::string_view name(SampleKernel kernel);

/// Which cores of a GPU add up what several rows share: CUDA cores alone, or tensor cores for columns that are dense in
/// a window of rows (HC-SpMM's idea with larger windows), and CUDA cores for all other edges.
enum class Core : std::uint8_t { cuda, tensor };
std::string_view name(Core core);
/// Which rows are in a window. `none`: consecutive ones. `clusters`: those of one community. `loa`: those that share
/// columns, by HC-SpMM's LOA with loa_order's defaults, which is of windows of 16 rows; larger ones take several of
/// those. Rows are listed and not renumbered, in an order that is found once per graph.
enum class WindowLayout : std::uint8_t { none, clusters, loa };
std::string_view name(WindowLayout layout);
/// Which windows run on tensor cores: every one, none (for comparisons), or those for which a model fitted to the GPU
/// (HC-SpMM's selector, weft tune) says that tensor cores are faster. All edges of the others are left to CUDA cores.
enum class WindowSelect : std::uint8_t { all, none, model };
std::string_view name(WindowSelect select);

/// What is to be run; everything a plan may depend on besides the graph and the machine.
struct OpDesc {
  OpKind kind = OpKind::spmm;
  Dtype dtype = Dtype::f32;
  std::int64_t heads = 1;
  std::int64_t width = 1;  // features a head of the output (of the operands, for sddmm's dot)
  Reduce reduce = Reduce::sum;
  bool weighted = true;
  bool backward = false;          // attention: its gradients' one visit of the edges, over the transpose
  std::int64_t sample_width = 0;  // spmm and attention: rows keep at most so many edges; 0: all
  /// Whether calls are known to be what row windows have kernels for, which nothing above says: sums of x times one
  /// value of each edge in the type of x, without col_scale; dot products of both ends of edges; gat (slope 0 to 1) and
  /// dot without terms of edges and dropout. Then the planner may take windows by itself; plans serve other calls, but
  /// gradients.
  bool fits_windows = false;
  /// attention: whether heads may run wider, in copies padded with zeros, which nothing above says: scores of gat do
  /// not read value. Then the planner may choose it for heads that lie badly in the lanes of a GPU's groups.
  bool widens = false;
  friend bool operator==(const OpDesc&, const OpDesc&) = default;
};

/// Values a caller may fix; what stays unset is the planner's.
struct Policy {
  std::int64_t tasks = 0;  // 0: the planner's
  std::optional<ScheduleKind> schedule;
  Assignment assignment = Assignment::dynamic;
  int prefetch_edges = -1;  // -1: the tuning table's
  // On a GPU:
  std::int64_t edges_a_group = 0;  // of threads; 0: the planner's
  std::optional<WorkOrder> order;
  std::optional<bool> joined;   // whether a block's groups unite the rows between them
  std::int64_t whole_row = -1;  // joined: rows of up to so many edges are not cut by tasks; -1: the planner's
  int vector = 0;               // most elements a load may move: 1, 2, 4 or 8; 0: the planner's
  int lanes = 0;      // threads that cover a row: one a pack (a power of two), or half of that; 0: the planner's
  int loads = 0;      // rows in flight per group: 2, 4 or 8; 0: the planner's
  bool waves = true;  // tasks that fill the GPU a whole number of times; else of the mean degree
  // The ways of HP-SpMM and GNNOne; only sums have them (round_robin is one more):
  std::optional<int> stage_edges;  // that a warp holds in shared memory at a time: 32, 64 or 128; 0: registers
  Flush flush = Flush::ordered;
  Accumulate accumulate = Accumulate::f32;  // half2: sums of f16 and bf16, in whole packs of eight
  SampleKernel sample_kernel = SampleKernel::usual;
  // Row windows:
  std::optional<Core> core;  // unset: tensor cores where the runs that the context expects pay for windows
  int window = 0;            // rows: 16, 64 or 128; 0: the planner's
  int threshold = 0;         // edges that make a column of a window dense; 0: the planner's
  std::optional<WindowLayout> layout;
  std::optional<WindowSelect> select;
  bool tf32 = false;  // sums of f32 on tensor cores round x to 10 bits of mantissa, outside of weft's error bound
  friend bool operator==(const Policy&, const Policy&) = default;
};
/// "schedule=rows,tasks=64,prefetch=16,assignment=round_robin" on a CPU; "edges=128,order=columns,join=no,vector=4,
/// lanes=8,loads=4,waves=off" and "stage=128,assignment=consecutive,flush=atomic" and "sample_kernel=cache_first" and
/// "core=tensor,window=128,threshold=3,layout=clusters,select=model,tf32=yes" on a GPU. An unknown key is an Error
/// listing them.
Policy parse_policy(std::string_view text);

struct Partition;   // src/plan: task borders and the pieces of long rows
class DeviceTasks;  // src/plan: the order of tasks, on the device
struct WindowPlan;  // src/plan: windows, and how the edges outside of them are summed

/// How a plan runs on a CPU.
struct CpuPlan {
  int threads = 1;
  std::int64_t piece_edges = 0;  // a row longer than this is cut into pieces of it
  std::int64_t long_rows = 0;    // rows that are cut
  std::int64_t pieces = 0;       // staging slots their pieces take
  int prefetch_edges = 0;        // how far ahead source rows are asked for
  friend bool operator==(const CpuPlan&, const CpuPlan&) = default;
};

/// How a plan runs on a GPU, where threads are the device's own and a task is a fixed number of edges or of rows.
struct CudaPlan {
  std::int64_t edges_a_task = 0;  // 0: rows
  std::int64_t rows_a_task = 0;
  WorkOrder order = WorkOrder::none;
  bool joined = false;           // a task is a block's, whose groups of threads share it; else a group's
  std::int64_t whole_row = 0;    // joined: rows of up to so many edges are not cut by tasks
  std::int64_t staged_rows = 0;  // slots for parts of cut rows
  bool finish_pass = true;       // whether a second kernel follows, for rows that were cut and rows without edges
  int stage_edges = 0;           // a warp's edges in shared memory at a time, and tasks are warps'; 0: in registers
  bool stage_asked = false;      // by the policy: a call that has no such kernel is refused
  Flush flush = Flush::ordered;
  Accumulate accumulate = Accumulate::f32;
  SampleKernel sample_kernel = SampleKernel::usual;
  Core core = Core::cuda;    // tensor: what follows is of the edges that are left to CUDA cores
  int window_rows = 0;       // of a window
  int window_threshold = 0;  // edges of a dense column
  WindowLayout window_layout = WindowLayout::none;
  WindowSelect window_select = WindowSelect::all;
  bool tf32 = false;            // sums of f32 there round x to 10 bits of mantissa
  int vector = 0;               // elements per load
  int lanes = 0;                // threads of a group: they cover a row, or where rows are narrow one edge each
  int steps = 0;                // loads a thread makes for one row
  int loads = 0;                // rows in flight
  bool shaped = false;          // lanes or loads are the policy's: only the weighted sum in f32 has such kernels
  bool long_rows = false;       // sddmm: the edges of a batch nearly always share their destination
  std::int64_t head_width = 0;  // attention: features a head runs with, in copies padded with zeros; 0: its own
  friend bool operator==(const CudaPlan&, const CudaPlan&) = default;
};

/// What a plan was made from and keeps for its runs. It is no part of the plan's value: any two are equal.
struct PlanBacking {
  std::uint64_t graph = 0;  // identity of the graph
  double modelled_us = 0;
  bool draws_sample = false;  // not where samples of the width keep every edge: those run as the graph itself does
  std::shared_ptr<const Partition> partition;       // on a CPU
  std::shared_ptr<const DeviceTasks> device_tasks;  // on a GPU; null: tasks run as they stand
  std::shared_ptr<const WindowPlan> windows;        // on a GPU, where core is tensor or a model kept no window
  friend bool operator==(const PlanBacking&, const PlanBacking&) { return true; }
};

struct Plan {
  OpDesc desc;
  Device device;
  ScheduleKind schedule = ScheduleKind::edge_split;
  Assignment assignment = Assignment::dynamic;
  std::int64_t tasks = 0;
  std::size_t workspace_bytes = 0;  // exact
  std::variant<CpuPlan, CudaPlan> how;
  PlanBacking backing;

  /// The device's own part; an Error where the plan is for the other kind of device.
  const CpuPlan& cpu() const;
  CpuPlan& cpu();
  const CudaPlan& cuda() const;
  CudaPlan& cuda();
  /// Equal choices: what backs them does not count.
  friend bool operator==(const Plan&, const Plan&) = default;
};
std::string to_string(const Plan& plan);
/// Whose a task of a GPU's plan is: a block's, a warp's or a group's (of threads).
std::string_view task_owner(const Plan& plan);
/// How large one is: "128 edges", "16 rows".
std::string task_size(const Plan& plan);

/// On a GPU a plan's order of the work is made in the context's stream: contexts of other streams must wait for that
/// before they run it, and plan and graph must live until work that uses them is done.
Plan make_plan(const Context& context, const Graph& graph, const OpDesc& desc, const Policy& policy = {});

/// The plan with what was weighed on the way to it.
struct PlanCandidate {
  Plan plan;
  double gather_us = 0, stream_us = 0, compute_us = 0, imbalance = 1, overhead_us = 0, total_us = 0;
  bool chosen = false;
};
struct PlanReport {
  std::vector<PlanCandidate> candidates;
  std::string reason;
};
PlanReport explain_plan(const Context& context, const Graph& graph, const OpDesc& desc, const Policy& policy = {});

}  // namespace weft
