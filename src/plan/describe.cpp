// Plans and policies as text.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <tuple>
#include <vector>

#include "core/names.hpp"
#include "plan/cuda/stage_choice.hpp"
#include "plan/plan_view.hpp"
#include "plan/policy_keys.hpp"
#include "weft/plan.hpp"

namespace weft {
namespace {

constexpr NameTable<OpKind, 6> kind_names{{{OpKind::spmm, "spmm"},
                                           {OpKind::sddmm, "sddmm"},
                                           {OpKind::spmv, "spmv"},
                                           {OpKind::softmax, "softmax"},
                                           {OpKind::attention, "attention"},
                                           {OpKind::segment, "segment"}}};
constexpr NameTable<ScheduleKind, 2> schedule_names{
    {{ScheduleKind::rows, "rows"}, {ScheduleKind::edge_split, "edge_split"}}};
constexpr NameTable<WorkOrder, 4> order_names{{{WorkOrder::none, "none"},
                                               {WorkOrder::columns, "columns"},
                                               {WorkOrder::clusters, "clusters"},
                                               {WorkOrder::clusters_columns, "clusters+columns"}}};
constexpr NameTable<Assignment, 3> assignment_names{{{Assignment::dynamic, "dynamic"},
                                                     {Assignment::round_robin, "round_robin"},
                                                     {Assignment::consecutive, "consecutive"}}};
constexpr NameTable<Accumulate, 2> accumulate_names{{{Accumulate::f32, "f32"}, {Accumulate::half2, "half2"}}};
constexpr NameTable<SampleKernel, 2> sample_kernel_names{
    {{SampleKernel::usual, "usual"}, {SampleKernel::cache_first, "cache_first"}}};
constexpr NameTable<Core, 2> core_names{{{Core::cuda, "cuda"}, {Core::tensor, "tensor"}}};
constexpr NameTable<WindowLayout, 3> layout_names{
    {{WindowLayout::none, "none"}, {WindowLayout::clusters, "clusters"}, {WindowLayout::loa, "loa"}}};
constexpr NameTable<WindowSelect, 3> select_names{
    {{WindowSelect::all, "all"}, {WindowSelect::none, "none"}, {WindowSelect::model, "model"}}};
constexpr NameTable<Flush, 2> flush_names{{{Flush::ordered, "ordered"}, {Flush::atomic, "atomic"}}};

constexpr auto policy_keys = std::to_array<std::string_view>(
    {"schedule", "tasks",  "prefetch",  "assignment", "edges",  "order", "join",       "whole",
     "vector",   "lanes",  "loads",     "waves",      "stage",  "flush", "accumulate", "sample_kernel",
     "core",     "window", "threshold", "layout",     "select", "tf32"});
// schedule and assignment are of both devices.
constexpr auto keys_on_cpu = std::to_array<std::string_view>({"schedule", "tasks", "prefetch", "assignment"});
constexpr auto keys_of_cpu_alone = std::to_array<std::string_view>({"tasks", "prefetch"});

/// The next "key=value" of a list of them, which it is taken from.
struct PolicyItem {
  std::string_view key, value;
};
PolicyItem take_item(std::string_view& text) {
  const std::string_view item = text.substr(0, text.find(','));
  text.remove_prefix(std::min(text.size(), item.size() + 1));
  const auto equals = item.find('=');
  WEFT_CHECK(equals != std::string_view::npos, invalid_argument, "policy '{}': expected key=value", item);
  return {item.substr(0, equals), item.substr(equals + 1)};
}

std::int64_t parse_count(std::string_view key, std::string_view text, std::int64_t most) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  WEFT_CHECK(error == std::errc{} && end == text.data() + text.size() && value >= 0 && value <= most, invalid_argument,
             "policy {}={}: expected a whole number from 0 to {}", key, text, most);
  return value;
}

/// One of two words.
bool parse_switch(std::string_view key, std::string_view text, std::string_view on, std::string_view off) {
  WEFT_CHECK(text == on || text == off, invalid_argument, "policy {}={}: expected {} or {}", key, text, on, off);
  return text == on;
}

/// One of a few numbers.
int parse_choice(std::string_view key, std::string_view text, std::initializer_list<int> choices,
                 std::string_view expected) {
  for (const int choice : choices)
    if (text == fmt::format("{}", choice)) return choice;
  fail(ErrorCode::invalid_argument, "policy {}={}: expected {}", key, text, expected);
}

}  // namespace

std::string_view name(OpKind kind) { return name_in(kind_names, kind); }
std::string_view name(ScheduleKind kind) { return name_in(schedule_names, kind); }
std::string_view name(Assignment assignment) { return name_in(assignment_names, assignment); }
std::string_view name(Accumulate accumulate) { return name_in(accumulate_names, accumulate); }
std::string_view name(SampleKernel kernel) { return name_in(sample_kernel_names, kernel); }
std::string_view name(Core core) { return name_in(core_names, core); }
std::string_view name(WindowLayout layout) { return name_in(layout_names, layout); }
std::string_view name(WindowSelect select) { return name_in(select_names, select); }
std::string_view name(Flush flush) { return name_in(flush_names, flush); }
OpKind parse_op_kind(std::string_view text) { return parse_in(kind_names, "operator", text); }
std::string_view name(WorkOrder order) { return name_in(order_names, order); }
WorkOrder parse_work_order(std::string_view text) { return parse_in(order_names, "order", text); }
ScheduleKind parse_schedule(std::string_view text) { return parse_in(schedule_names, "schedule", text); }

Policy parse_policy(std::string_view text) {
  Policy policy;
  std::vector<std::string_view> given;
  while (!text.empty()) {
    const auto [key, value] = take_item(text);
    WEFT_CHECK(std::ranges::count(given, key) == 0, invalid_argument, "policy key {} is given twice: expected it once",
               key);
    given.push_back(key);
    if (key == "schedule") {
      policy.schedule = parse_schedule(value);
    } else if (key == "tasks") {
      policy.tasks = parse_count(key, value, max_tasks);
    } else if (key == "prefetch") {
      policy.prefetch_edges = static_cast<int>(parse_count(key, value, max_prefetch));
    } else if (key == "assignment") {
      policy.assignment = parse_in(assignment_names, "assignment", value);
    } else if (key == "edges") {
      policy.edges_a_group = parse_count(key, value, max_edges_a_group);
    } else if (key == "order") {
      policy.order = parse_work_order(value);
    } else if (key == "whole") {
      policy.whole_row = parse_count(key, value, max_whole_row);
    } else if (key == "join") {
      policy.joined = parse_switch(key, value, "yes", "no");
    } else if (key == "vector") {
      policy.vector = parse_choice(key, value, {1, 2, 4, 8}, "1, 2, 4 or 8");
    } else if (key == "lanes") {
      policy.lanes = parse_choice(key, value, {1, 2, 4, 8, 16, 32}, "a power of two up to 32");
    } else if (key == "loads") {
      policy.loads = parse_choice(key, value, {2, 4, 8}, "2, 4 or 8");
    } else if (key == "waves") {
      policy.waves = parse_switch(key, value, "on", "off");
    } else if (key == "stage") {
      policy.stage_edges =
          value == "registers" ? 0 : parse_choice(key, value, {32, 64, 128}, "registers, 32, 64 or 128");
    } else if (key == "flush") {
      policy.flush = parse_in(flush_names, "flush", value);
    } else if (key == "accumulate") {
      policy.accumulate = parse_in(accumulate_names, "accumulate", value);
    } else if (key == "sample_kernel") {
      policy.sample_kernel = parse_in(sample_kernel_names, "sample_kernel", value);
    } else if (key == "core") {
      policy.core = parse_in(core_names, "core", value);
    } else if (key == "window") {
      policy.window = parse_choice(key, value, {16, 64, 128}, "16, 64 or 128");
    } else if (key == "threshold") {
      policy.threshold = static_cast<int>(parse_count(key, value, most_threshold));
    } else if (key == "layout") {
      policy.layout = parse_in(layout_names, "layout", value);
    } else if (key == "select") {
      policy.select = parse_in(select_names, "select", value);
    } else if (key == "tf32") {
      policy.tf32 = parse_switch(key, value, "yes", "no");
    } else {
      fail_unknown("policy key", key, policy_keys);
    }
  }
  return policy;
}

void check_policy_keys(std::string_view text, DeviceKind device) {
  const bool on_cpu = device == DeviceKind::cpu;
  std::vector<std::string_view> keys(policy_keys.begin(), policy_keys.end());
  std::erase_if(keys, [&](std::string_view key) {
    return on_cpu ? std::ranges::count(keys_on_cpu, key) == 0 : std::ranges::count(keys_of_cpu_alone, key) > 0;
  });
  while (!text.empty()) {
    const auto [key, value] = take_item(text);
    WEFT_CHECK(std::ranges::count(keys, key) > 0, invalid_argument,
               "policy key {} applies to --device {} only: keys of the {} are {}", key, on_cpu ? "cuda" : "cpu",
               on_cpu ? "CPU" : "GPU", fmt::join(keys, ", "));
  }
}

namespace {

template <class Part, class How>
auto& part_of(How& how, Device device, const char* kind) {
  auto* part = std::get_if<Part>(&how);
  WEFT_CHECK(part != nullptr, internal, "the plan is for {}, and its part for a {} was asked for", to_string(device),
             kind);
  return *part;
}

}  // namespace

const CpuPlan& Plan::cpu() const { return part_of<CpuPlan>(how, device, "CPU"); }
CpuPlan& Plan::cpu() { return part_of<CpuPlan>(how, device, "CPU"); }
const CudaPlan& Plan::cuda() const { return part_of<CudaPlan>(how, device, "GPU"); }
CudaPlan& Plan::cuda() { return part_of<CudaPlan>(how, device, "GPU"); }

std::string_view task_owner(const Plan& plan) {
  return plan.cuda().joined ? "block" : plan.cuda().stage_edges > 0 ? "warp" : "group";
}

std::string task_size(const Plan& plan) {
  const CudaPlan& cuda = plan.cuda();
  return cuda.rows_a_task > 0 ? fmt::format("{} rows", cuda.rows_a_task) : fmt::format("{} edges", cuda.edges_a_task);
}

std::string to_string(const Plan& plan) {
  const std::string what = fmt::format(
      "{} {} {}x{} {}{} on {}", name(plan.desc.kind), name(plan.desc.dtype), plan.desc.heads, plan.desc.width,
      name(plan.desc.reduce),
      plan.desc.sample_width > 0 ? fmt::format(" over at most {} edges per row", plan.desc.sample_width) : "",
      to_string(plan.device));
  if (const auto* cuda = std::get_if<CudaPlan>(&plan.how))
    return fmt::format(
        "{}{}: {}, tasks: {} of {} a {}, order {}, {}, {} lanes x {} loads of {} elements per row, rows in flight: "
        "{}{}{}, workspace {} bytes",
        what, cuda->head_width > 0 ? fmt::format(" as {}x{}", plan.desc.heads, cuda->head_width) : "",
        name(plan.schedule), plan.tasks, task_size(plan), task_owner(plan), name(cuda->order),
        cuda->finish_pass ? "two passes" : "one pass", cuda->lanes, cuda->steps, cuda->vector, cuda->loads,
        cuda->stage_edges > 0 ? ", " + stage_text(plan) : "",
        cuda->accumulate == Accumulate::half2              ? ", accumulate=half2"
        : cuda->sample_kernel == SampleKernel::cache_first ? ", sample_kernel=cache_first"
        : cuda->core == Core::tensor
            ? fmt::format(
                  ", after windows of {} rows on tensor cores (columns of {} edges and more, layout={}, select={}{})",
                  cuda->window_rows, cuda->window_threshold, name(cuda->window_layout), name(cuda->window_select),
                  cuda->tf32 ? ", tf32=yes" : "")
            : "",
        plan.workspace_bytes);
  const CpuPlan& cpu = plan.cpu();
  return fmt::format(
      "{} (threads: {}): {}, tasks: {} {}, pieces of {} edges (long rows: {}, pieces: {}), prefetch {} edges, {}"
      "workspace {} bytes",
      what, cpu.threads, name(plan.schedule), plan.tasks, name(plan.assignment), cpu.piece_edges, cpu.long_rows,
      cpu.pieces, cpu.prefetch_edges, cpu.scaled_rows > 0 ? "sources scaled before, " : "", plan.workspace_bytes);
}

}  // namespace weft
