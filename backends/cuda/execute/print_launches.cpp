// Writes nodes, then edges, of one plan after the other.
#include "backends/cuda/execute/print_launches.h"

#include "backends/codegen/inspect/comment_text.h"
#include "backends/codegen/inspect/source.h"
#include "backends/codegen/plan/touched.h"
#include "backends/cuda/execute/step_dependences.h"
#include "core/ops/op.h"
#include "core/types/text.h"

#include <algorithm>
#include <map>
#include <utility>

namespace kiln::cuda {
namespace {

using namespace codegen;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// The lines as a string of the DOT language.
std::string quoted(const std::vector<std::string>& lines) {
  std::string out = "\"";
  for (const std::string& line : lines) {
    if (line.empty()) continue;
    if (out.size() > 1) out += "\\n";
    for (const char c : comment_text(line)) {
      if (c == '"') out += '\\';
      out += c;
    }
  }
  return out + "\"";
}

/// The nodes that stand for a step: values go to the first and come from the second.
struct StepNodes {
  std::string entry, exit;
};

/// The nodes around a plan, by slot.
struct OuterNodes {
  std::map<int, std::string> arguments, results;
};

/// Which steps of a plan are recorded as CUDA graphs.
enum class Graphs : std::uint8_t { OfSegments, All, None };

class LaunchPrinter {
 public:
  explicit LaunchPrinter(const ScheduledProgram& program) : program_(program) {}

  std::string print(const DevicePlan* bound) {
    const Plan& plan = program_.lowered.program.plan;
    const std::string sizes = bound == nullptr ? "sizes that no call has set have names" : "";
    line(text("digraph ", quoted({program_.lowered.label}), " {"));
    line(text("  label=",
              quoted({program_.lowered.label, sizes,
                      "steps run in the order of their numbers, on one stream",
                      "dashed edge: memory that is written again",
                      "dashed node: queued without a CUDA graph"}),
              ";"));
    line("  labelloc=t;");
    line("  node [shape=box, fontname=monospace];");
    const OuterNodes outer = print_arguments(plan, bound);
    print_plan(plan, bound, outer, updates_in_place(), Graphs::OfSegments);
    line("}");
    return std::move(out_);
  }

 private:
  void line(const std::string& words) { out_ += words + "\n"; }
  std::string new_node() { return text("n", next_++); }

  void node(const std::string& name, const std::vector<std::string>& lines,
            const std::string& style = "") {
    line(text("  ", name, " [label=", quoted(lines), style.empty() ? "" : ", " + style, "];"));
  }
  void edge(const std::string& from, const std::string& to, const std::string& words,
            const std::string& style = "") {
    line(text("  ", from, " -> ", to, " [label=", quoted({words}),
              style.empty() ? "" : ", " + style, "];"));
  }

  // ---- arguments and results of the program ----

  std::string name_of_argument(std::size_t i) const {
    const module::Module& module = program_.lowered.module;
    const std::size_t inputs = module.graph.inputs.size();
    if (i >= inputs) return "variable " + name_of_variable(module.state[i - inputs].variable);
    return "input " + module.graph.inputs[i].node->as<ir::PlaceholderAttrs>().name;
  }
  static std::string name_of_variable(const ir::Value& variable) {
    return variable.node->as<ir::VariableAttrs>().name;
  }
  std::string name_of_result(std::size_t i) const {
    const ir::Graph& graph = program_.lowered.module.graph;
    if (i < graph.outputs.size()) return text("output ", i);
    return "new value of " + name_of_variable(graph.updates[i - graph.outputs.size()].variable);
  }

  OuterNodes print_arguments(const Plan& plan, const DevicePlan* bound) {
    OuterNodes outer;
    const auto add = [&](int slot, const std::string& name, auto& list) {
      const std::string made = new_node();
      node(made, {name, type_of(plan, bound, slot)}, "shape=ellipse");
      list.emplace(slot, made);
    };
    for (std::size_t i = 0; i < plan.arguments.size(); ++i) {
      const int slot = plan.arguments[i];
      if (slot >= 0) add(slot, name_of_argument(i), outer.arguments);
    }
    for (std::size_t i = 0; i < plan.results.size(); ++i) {
      add(plan.results[i], name_of_result(i), outer.results);
    }
    return outer;
  }

  /// New values that may be written over their variables.
  std::vector<SharedSlots> updates_in_place() const {
    const LoweredModule& lowered = program_.lowered;
    const Plan& plan = lowered.program.plan;
    const std::size_t outputs = lowered.module.graph.outputs.size();
    const std::size_t inputs = lowered.module.graph.inputs.size();
    std::vector<SharedSlots> pairs;
    for (std::size_t i = 0; i < lowered.updates_in_place.size(); ++i) {
      if (lowered.updates_in_place[i] == 0) continue;
      pairs.push_back({plan.results[outputs + i], plan.arguments[inputs + lowered.updated[i]]});
    }
    return pairs;
  }

  static std::string type_of(const Plan& plan, const DevicePlan* bound, int slot) {
    const Slot& one = plan.slots[at(slot)];
    if (bound == nullptr) return text(ir::Type{one.dtype, one.dims});
    return text(one.dtype, "[", join_text(bound->sizes.dims[at(slot)], ","), "]");
  }

  // ---- plans ----

  void print_plan(const Plan& plan, const DevicePlan* bound, const OuterNodes& outer,
                  const std::vector<SharedSlots>& in_place, Graphs graphs) {
    std::vector<StepNodes> nodes;
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      const DeviceStep* const step = bound == nullptr ? nullptr : &bound->steps[s];
      const bool is_single = bound != nullptr && !has_graph(*bound, s, graphs);
      nodes.push_back(std::visit(
          [&](const auto& one) {
            return print_step(one, step, text(s, ": "), is_single ? "style=dashed" : "");
          },
          plan.steps[s]));
    }
    const Arena* const arena = bound == nullptr ? nullptr : &bound->arena;
    print_edges(plan, bound, nodes,
                step_dependences(plan, program_.lowered.program.kernels, arena, in_place));
    print_outer_edges(plan, bound, nodes, outer);
  }

  static bool has_graph(const DevicePlan& bound, std::size_t step, Graphs graphs) {
    if (graphs != Graphs::OfSegments) return graphs == Graphs::All;
    return std::any_of(bound.segments.begin(), bound.segments.end(), [&](const Segment& one) {
      return one.begin <= step && step < one.end && one.has_graph;
    });
  }

  void print_edges(const Plan& plan, const DevicePlan* bound, const std::vector<StepNodes>& nodes,
                   const std::vector<StepDependence>& dependences) {
    for (const StepDependence& one : dependences) {
      const std::string &from = nodes[at(one.from)].exit, &to = nodes[at(one.to)].entry;
      if (one.slot < 0) {
        edge(from, to, "", "style=dashed");
      } else {
        edge(from, to, value_text(plan, bound, one.slot));
      }
    }
  }

  static std::string value_text(const Plan& plan, const DevicePlan* bound, int slot) {
    return text("%", slot, " ", type_of(plan, bound, slot));
  }

  void print_outer_edges(const Plan& plan, const DevicePlan* bound,
                         const std::vector<StepNodes>& nodes, const OuterNodes& outer) {
    for (std::size_t s = 0; s < nodes.size(); ++s) {
      const Touched slots = touched(plan.steps[s], program_.lowered.program.kernels);
      for (const int slot : slots.read) {
        const auto found = outer.arguments.find(slot);
        if (found == outer.arguments.end()) continue;
        edge(found->second, nodes[s].entry, value_text(plan, bound, slot));
      }
      for (const int slot : slots.written) {
        const auto found = outer.results.find(slot);
        if (found == outer.results.end()) continue;
        edge(nodes[s].exit, found->second, value_text(plan, bound, slot));
      }
    }
  }

  // ---- steps; `style` of a node that is queued without a graph ----

  StepNodes print_step(const KernelStep& step, const DeviceStep* bound, const std::string& number,
                       const std::string& style) {
    const Kernel& kernel = program_.lowered.program.kernels[at(step.kernel)].kernel;
    const GridSchedule& schedule = program_.schedules[at(step.kernel)];
    const auto* launch = bound == nullptr ? nullptr : &std::get<KernelLaunch>(*bound);
    return single({number + kernel.name, grid_text(kernel, schedule, launch),
                   codegen::print(schedule), kernel.comes_from},
                  style);
  }

  /// The grid in numbers where the sizes are known.
  std::string grid_text(const Kernel& kernel, const GridSchedule& schedule,
                        const KernelLaunch* launch) const {
    if (launch != nullptr) return grid_text(launch->grid);
    const bool is_static = std::all_of(kernel.axes.begin(), kernel.axes.begin() + kernel.outer,
                                       [](const ir::Dim& extent) { return extent.is_static(); });
    if (is_static) {
      const auto value = [](const ir::Dim& extent) { return extent.value(); };
      return grid_text(launch_of(kernel, schedule, program_.grid, value));
    }
    std::string points;
    for (const int axis : schedule.axes) {
      points += text(points.empty() ? "" : " x ", kernel.axes[at(axis)]);
    }
    return text("blocks of ", schedule.threads, " threads for ", points.empty() ? "1" : points,
                " points");
  }
  static std::string grid_text(const GridLaunch& grid) {
    if (grid.points == 0) return "no points: nothing is launched";
    return text(grid.blocks, " blocks of ", grid.threads, " threads for ", grid.points, " points");
  }

  StepNodes print_step(const LibraryStep& step, const DeviceStep* bound, const std::string& number,
                       const std::string& style) {
    std::string calls;
    if (const auto* matmul = bound == nullptr ? nullptr : std::get_if<DeviceMatmul>(bound)) {
      calls = text("calls of cuBLASLt: ", matmul->parts.size(), ", ", matmul->workspace_bytes,
                   " bytes of workspace");
    }
    return single({text(number, ir::def(step.node->op).name, " ", step.dtype,
                        step.bias < 0 ? "" : " + bias", step.relu ? ", relu" : ""),
                   calls, source_of(*step.node)},
                  style);
  }

  StepNodes print_step(const CopyStep&, const DeviceStep*, const std::string& number,
                       const std::string& style) {
    return single({number + "copy"}, style);
  }

  StepNodes print_step(const HostCallStep& step, const DeviceStep*, const std::string& number,
                       const std::string& style) {
    return single({text(number, "host call ", step.node->as<ir::HostCallAttrs>().function),
                   source_of(*step.node)},
                  joined("shape=hexagon", style));
  }

  StepNodes print_step(const LoopStep& step, const DeviceStep* bound, const std::string& number,
                       const std::string& style) {
    const auto& attrs = step.node->as<ir::ScanAttrs>();
    const auto* loop = bound == nullptr ? nullptr : &std::get<DeviceLoop>(*bound);
    const std::string length = loop == nullptr ? text(attrs.length) : text(loop->loop.length);
    const StepNodes ends{new_node(), new_node()};
    begin_cluster(
        {text(number, "loop of ", length, " iterations", attrs.reverse ? ", backwards" : ""),
         source_of(*step.node)});
    node(ends.entry, {"each iteration"}, joined("shape=ellipse", style));
    node(ends.exit, {"end of the iteration"}, joined("shape=ellipse", style));
    // The iterations are part of the loop's graph, or all queued one by one.
    print_body(*step.body, loop == nullptr ? nullptr : loop->body.plan.get(), ends,
               style.empty() ? Graphs::All : Graphs::None);
    if (attrs.carry != 0) edge(ends.exit, ends.entry, "carried", "style=dotted, constraint=false");
    line("  }");
    return ends;
  }

  StepNodes print_step(const BranchStep& step, const DeviceStep* bound, const std::string& number,
                       const std::string& style) {
    const auto* branch = bound == nullptr ? nullptr : &std::get<DeviceBranch>(*bound);
    const StepNodes ends{new_node(), new_node()};
    node(ends.entry, {number + "branch, read by the host", source_of(*step.node)},
         joined("shape=diamond", style));
    node(ends.exit, {"end of the branch"}, joined("shape=ellipse", style));
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      begin_cluster({i == 0 ? "then" : "else"});
      const DevicePlan* body = branch == nullptr ? nullptr : branch->bodies[i].plan.get();
      print_body(*step.branches[i], body, ends, Graphs::OfSegments);
      line("  }");
    }
    return ends;
  }

  void begin_cluster(const std::vector<std::string>& lines) {
    line(text("  subgraph cluster_", next_++, " {"));
    line(text("  label=", quoted(lines), ";"));
  }

  /// Arguments come from the entry, and results go to the exit.
  void print_body(const Plan& plan, const DevicePlan* bound, const StepNodes& ends, Graphs graphs) {
    if (bound != nullptr && bound->failure) {
      const std::string stop = new_node();
      node(stop, {"cannot run with these sizes: " + bound->failure->text}, "shape=octagon");
      return edge(ends.entry, stop, "");
    }
    OuterNodes outer;
    for (const int slot : plan.arguments) {
      if (slot >= 0) outer.arguments.emplace(slot, ends.entry);
    }
    for (const int slot : plan.results) outer.results.emplace(slot, ends.exit);
    print_plan(plan, bound, outer, {}, graphs);
  }

  StepNodes single(const std::vector<std::string>& lines, const std::string& style) {
    const std::string made = new_node();
    node(made, lines, style);
    return {made, made};
  }

  static std::string joined(const std::string& style, const std::string& more) {
    return more.empty() ? style : style + ", " + more;
  }

  const ScheduledProgram& program_;
  std::string out_;
  int next_ = 0;  // of nodes and clusters
};

}  // namespace

std::string print_launches(const ScheduledProgram& program, const DevicePlan* bound) {
  return LaunchPrinter(program).print(bound);
}

}  // namespace kiln::cuda
