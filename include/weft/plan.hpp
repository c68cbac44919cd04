// A plan decides beforehand how an operator runs on one graph. It is a value that can be printed, compared and
// explained, and it has the exact size of the workspace that a run needs.
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

/// How work is divided into tasks. `rows`: equal numbers of rows per task. `edge_split`: equal work per task; long rows
/// are cut into pieces, whose partial sums are combined in order.
enum class ScheduleKind : std::uint8_t { rows, edge_split };
std::string_view name(ScheduleKind kind);
ScheduleKind parse_schedule(std::string_view text);

/// On a CPU, the task that a thread takes next: the next free one (dynamic), or every T-th (round_robin). On a GPU, the
/// edges of a shared-memory tile that a group of threads takes: consecutive ones, or every G-th (round_robin).
/// `dynamic` is also accepted as the GPU's default.
enum class Assignment : std::uint8_t { dynamic, round_robin, consecutive };
std::string_view name(Assignment assignment);

/// The order in which a GPU works on the edges. `columns` sorts tasks that lie within one row by the column in their
/// middle, so that concurrent tasks read the same sources. `clusters` takes the rows community by community, for the
/// same reason (costs 8 to 12 bytes per edge and label propagation, once per graph). `clusters_columns` does both.
enum class WorkOrder : std::uint8_t { none, columns, clusters, clusters_columns };
std::string_view name(WorkOrder order);
WorkOrder parse_work_order(std::string_view text);

/// How a GPU adds partial sums of cut rows to the output: in the order of the tasks, or by atomics in any order. Only
/// with atomics may bits differ from run to run.
enum class Flush : std::uint8_t { ordered, atomic };
std::string_view name(Flush flush);

/// The accumulator of f16 and bf16 sums on a GPU. f32: each message is added in float32. half2 (HalfGNN's discretised
/// reduction): a batch of edges is added in pairs of halves, scaled so that it does not overflow, and batches are added
/// in float32. half2 takes fewer instructions, but does not keep weft's error bound, only its own.
enum class Accumulate : std::uint8_t { f32, half2 };
std::string_view name(Accumulate accumulate);

/// The kernels that sum sampled edges on a GPU: weft's usual ones, or ES-SpMM's for comparison (a row's sample in
/// shared memory, one thread per output element).
enum class SampleKernel : std::uint8_t { usual, cache_first };
std::string_view name(SampleKernel kernel);

/// The GPU cores that compute: CUDA cores only, or tensor cores for columns that are dense in a row window (HC-SpMM's
/// idea with larger windows) and CUDA cores for all other edges.
enum class Core : std::uint8_t { cuda, tensor };
std::string_view name(Core core);
/// The rows of a window. `none`: consecutive rows. `clusters`: rows of one community. `loa`: rows that share columns,
/// by HC-SpMM's LOA with loa_order's defaults, which fills windows of 16 rows; larger windows take several of those.
/// Rows are listed and not renumbered; their order is computed once per graph.
enum class WindowLayout : std::uint8_t { none, clusters, loa };
std::string_view name(WindowLayout layout);
/// The windows that run on tensor cores: all, none (for comparisons), or those for which a model fitted to the GPU
/// (HC-SpMM's selector, weft tune) predicts that tensor cores are faster. All edges of other windows stay on CUDA
/// cores.
enum class WindowSelect : std::uint8_t { all, none, model };
std::string_view name(WindowSelect select);

/// The operator to run: everything that a plan may depend on besides the graph and the machine.
struct OpDesc {
  OpKind kind = OpKind::spmm;
  Dtype dtype = Dtype::f32;
  std::int64_t heads = 1;
  std::int64_t width = 1;  // features per head of the output (of the operands, for sddmm's dot)
  Reduce reduce = Reduce::sum;
  bool weighted = true;
  bool backward = false;          // attention: the kernel that computes all gradients at once, over the transpose
  std::int64_t sample_width = 0;  // spmm and attention: rows keep at most this many edges; 0: all
  /// Whether the calls are known to have kernels over row windows, which the fields above do not tell: sums of x times
  /// one value per edge in x's type, without col_scale; dot products of an edge's two endpoints; gat (slope 0 to 1) and
  /// dot attention without edge terms and dropout. Then the planner may choose windows by itself; the plan still runs
  /// other calls, except gradients.
  bool fits_windows = false;
  /// attention: whether heads may run wider, in copies padded with zeros, which the fields above do not tell: only gat
  /// allows it, whose scores do not read value. Then the planner may choose it for head widths that do not map well to
  /// a GPU's lanes.
  bool widens = false;
  /// spmm: whether the calls have a col_scale and the op copy_u. Then the planner may scale sources in a pass before the
  /// sums, into [sources, features] of the workspace, which rounds each of them once more; f16 and bf16 would lose bits
  /// and keep the scale along the edges. The plan still runs other calls.
  bool scales_sources = false;
  friend bool operator==(const OpDesc&, const OpDesc&) = default;
};

/// Values that a caller may fix; the planner chooses those that are unset.
struct Policy {
  std::int64_t tasks = 0;  // 0: planner's choice
  std::optional<ScheduleKind> schedule;
  Assignment assignment = Assignment::dynamic;
  int prefetch_edges = -1;  // -1: the tuning table's value
  // On a GPU:
  std::int64_t edges_a_group = 0;  // edges per group of threads; 0: planner's choice
  std::optional<WorkOrder> order;
  std::optional<bool> joined;   // whether a block's groups combine the partial sums of rows that they share
  std::int64_t whole_row = -1;  // joined: tasks do not cut rows of up to this many edges; -1: planner's choice
  int vector = 0;               // most elements per load: 1, 2, 4 or 8; 0: planner's choice
  int lanes = 0;      // threads that cover a row: one per pack (a power of two), or half of that; 0: planner's choice
  int loads = 0;      // rows in flight per group: 2, 4 or 8; 0: planner's choice
  bool waves = true;  // true: task sizes that fill the GPU a whole number of times; false: of the mean degree
  // Techniques of HP-SpMM and GNNOne, for sums only (round_robin is another one):
  std::optional<int> stage_edges;  // edges that a warp holds in shared memory: 32, 64 or 128; 0: in registers
  Flush flush = Flush::ordered;
  Accumulate accumulate = Accumulate::f32;  // half2: f16 and bf16 sums of whole packs of eight
  SampleKernel sample_kernel = SampleKernel::usual;
  // Row windows:
  std::optional<Core> core;  // unset: tensor cores if the context's expected runs pay for windows
  int window = 0;            // rows: 16, 64 or 128; 0: planner's choice
  int threshold = 0;         // fewest edges of a dense column in a window; 0: planner's choice
  std::optional<WindowLayout> layout;
  std::optional<WindowSelect> select;
  bool tf32 = false;  // f32 sums on tensor cores round x to 10 bits of mantissa, outside of weft's error bound
  friend bool operator==(const Policy&, const Policy&) = default;
};
/// Parses keys such as "schedule=rows,tasks=64,prefetch=16,assignment=round_robin" for a CPU; and for a GPU "edges=128,
/// order=columns,join=no,vector=4,lanes=8,loads=4,waves=off", "stage=128,assignment=consecutive,flush=atomic",
/// "sample_kernel=cache_first" and "core=tensor,window=128,threshold=3,layout=clusters,select=model,tf32=yes". An
/// unknown key is an Error that lists the known ones.
Policy parse_policy(std::string_view text);

struct Partition;   // src/plan: task borders and the pieces of long rows
class DeviceTasks;  // src/plan: the order of tasks, on the device
struct WindowPlan;  // src/plan: windows, and the plan of the residual edges

/// How a plan runs on a CPU.
struct CpuPlan {
  int threads = 1;
  std::int64_t piece_edges = 0;  // longer rows are cut into pieces of this many edges
  std::int64_t long_rows = 0;    // rows that are cut
  std::int64_t pieces = 0;       // staging slots of their pieces
  std::int64_t scaled_rows = 0;  // sources that a pass scales before the sums; 0: they are scaled along the edges
  int prefetch_edges = 0;        // how many edges ahead source rows are prefetched
  friend bool operator==(const CpuPlan&, const CpuPlan&) = default;
};

/// How a plan runs on a GPU, where a task is a fixed number of edges or of rows.
struct CudaPlan {
  std::int64_t edges_a_task = 0;  // 0: tasks of rows
  std::int64_t rows_a_task = 0;
  WorkOrder order = WorkOrder::none;
  bool joined = false;           // a task belongs to a block, whose groups of threads share it; else to a group
  std::int64_t whole_row = 0;    // joined: tasks do not cut rows of up to this many edges
  std::int64_t staged_rows = 0;  // staging slots for partial sums of cut rows
  bool finish_pass = true;       // whether a second kernel follows, for cut rows and rows without edges
  int stage_edges = 0;           // edges that a warp holds in shared memory, with a task per warp; 0: in registers
  bool stage_asked = false;      // the policy asks for stage_edges: a call without such a kernel is refused
  Flush flush = Flush::ordered;
  Accumulate accumulate = Accumulate::f32;
  SampleKernel sample_kernel = SampleKernel::usual;
  Core core = Core::cuda;    // tensor: the next five fields describe windows, all others but `order` the residual
  int window_rows = 0;       // rows per window
  int window_threshold = 0;  // fewest edges of a dense column
  WindowLayout window_layout = WindowLayout::none;
  WindowSelect window_select = WindowSelect::all;
  bool tf32 = false;            // f32 sums there round x to 10 bits of mantissa
  int vector = 0;               // elements per load
  int lanes = 0;                // threads per group: they cover a row, or one edge each if rows are narrow
  int steps = 0;                // loads per thread and row
  int loads = 0;                // rows in flight
  bool shaped = false;          // the policy sets lanes or loads: only the weighted f32 sum has such kernels
  bool long_rows = false;       // sddmm: the edges of a batch nearly always share their destination
  std::int64_t head_width = 0;  // attention: the padded width that heads run with, in copies; 0: their own width
  friend bool operator==(const CudaPlan&, const CudaPlan&) = default;
};

/// Data that a plan keeps for its runs. It is not part of the plan's value: any two compare equal.
struct PlanBacking {
  std::uint64_t graph = 0;  // identity of the graph
  double modelled_us = 0;
  bool draws_sample = false;  // false if a sample keeps every edge: then the run is over the whole graph
  std::shared_ptr<const Partition> partition;       // on a CPU
  std::shared_ptr<const DeviceTasks> device_tasks;  // on a GPU; null: tasks run in stored order
  std::shared_ptr<const WindowPlan> windows;        // on a GPU, if core is tensor or the model selected no window
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

  /// The device's own part; an Error if the plan is for the other kind of device.
  const CpuPlan& cpu() const;
  CpuPlan& cpu();
  const CudaPlan& cuda() const;
  CudaPlan& cuda();
  /// Compares the choices; `backing` does not count.
  friend bool operator==(const Plan&, const Plan&) = default;
};
std::string to_string(const Plan& plan);
/// What runs a task of a GPU's plan: "block", "warp" or "group" (of threads).
std::string_view task_owner(const Plan& plan);
/// The size of a task: "128 edges", "16 rows".
std::string task_size(const Plan& plan);

/// Makes a plan. On a GPU the order of its tasks is computed in the context's stream: contexts with other streams must
/// wait for that before they run the plan, and plan and graph must live until work that uses them is done.
Plan make_plan(const Context& context, const Graph& graph, const OpDesc& desc, const Policy& policy = {});

/// One of the plans that the planner compared, with its modelled costs.
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
