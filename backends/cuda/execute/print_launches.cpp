// Prints the nodes of each plan, then its edges; bodies are clusters.
#include "backends/cuda/execute/print_launches.h"

#include "backends/codegen/plan/step_effects.h"
#include "backends/cuda/execute/launch_labels.h"
#include "backends/cuda/execute/step_dependences.h"
#include "core/types/at.h"
#include "core/types/text.h"

#include <algorithm>
#include <map>
#include <utility>

namespace kiln::cuda {
namespace {

using namespace codegen;

/// The nodes of a step: operands are edges to `entry`, results edges from `exit`.
struct StepNodes {
  std::string entry, exit;
};

/// The nodes outside of a plan that its arguments come from and its results go to, by slot.
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
    const std::string sizes = bound == nullptr ? "symbolic sizes: no call has bound them" : "";
    line(text("digraph ", dot_string({program_.lowered.label}), " {"));
    line(
        text("  label=",
             dot_string({program_.lowered.label, sizes,
                         "steps run in the order of their numbers, on one stream",
                         "dashed edge: reused memory", "dashed node: queued without a CUDA graph"}),
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

  void node(const std::string& name, const Label& label, const std::string& style = "") {
    line(text("  ", name, " [label=", dot_string(label), style.empty() ? "" : ", " + style, "];"));
  }
  void edge(const std::string& from, const std::string& to, const std::string& words,
            const std::string& style = "") {
    line(text("  ", from, " -> ", to, " [label=", dot_string({words}),
              style.empty() ? "" : ", " + style, "];"));
  }

  // ---- arguments and results of the program ----

  OuterNodes print_arguments(const Plan& plan, const DevicePlan* bound) {
    OuterNodes outer;
    const auto add = [&](int slot, const std::string& name, auto& list) {
      const std::string id = new_node();
      node(id, {name, type_of(plan, bound, slot)}, "shape=ellipse");
      list.emplace(slot, id);
    };
    for (std::size_t i = 0; i < plan.arguments.size(); ++i) {
      const int slot = plan.arguments[i];
      if (slot >= 0) add(slot, name_of_argument(program_.lowered.module, i), outer.arguments);
    }
    for (std::size_t i = 0; i < plan.results.size(); ++i) {
      add(plan.results[i], name_of_result(program_.lowered.module.graph, i), outer.results);
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
    return text(one.dtype, "[", join_text(bound->sizes.dims(slot), ","), "]");
  }

  // ---- plans ----

  void print_plan(const Plan& plan, const DevicePlan* bound, const OuterNodes& outer,
                  const std::vector<SharedSlots>& in_place, Graphs graphs) {
    std::vector<StepNodes> nodes;
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      const DeviceStep* const step = bound == nullptr ? nullptr : &bound->steps[s];
      const bool has_no_graph = bound != nullptr && !has_graph(*bound, s, graphs);
      Label label = label_of(program_, plan.steps[s], step);
      label[0] = text(s, ": ", label[0]);
      nodes.push_back(print_step(plan.steps[s], step, label, has_no_graph ? "style=dashed" : ""));
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
      const StepEffects slots = effects_of(plan.steps[s], program_.lowered.program.kernels);
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

  StepNodes print_step(const Step& step, const DeviceStep* bound, const Label& label,
                       const std::string& style) {
    if (const auto* loop = std::get_if<LoopStep>(&step)) {
      return print_loop(*loop, bound == nullptr ? nullptr : &std::get<DeviceLoop>(*bound), label,
                        style);
    }
    if (const auto* branch = std::get_if<BranchStep>(&step)) {
      return print_branch(*branch, bound == nullptr ? nullptr : &std::get<DeviceBranch>(*bound),
                          label, style);
    }
    const std::string id = new_node();
    const bool is_of_host = std::holds_alternative<HostCallStep>(step);
    node(id, label, is_of_host ? joined("shape=hexagon", style) : style);
    return {id, id};
  }

  StepNodes print_loop(const LoopStep& step, const DeviceLoop* bound, const Label& label,
                       const std::string& style) {
    const StepNodes ends{new_node(), new_node()};
    begin_cluster(label);
    node(ends.entry, {"each iteration"}, joined("shape=ellipse", style));
    node(ends.exit, {"end of the iteration"}, joined("shape=ellipse", style));
    // The iterations are part of the loop's graph, or all queued one by one.
    print_body(*step.body, bound == nullptr ? nullptr : bound->body.plan.get(), ends,
               style.empty() ? Graphs::All : Graphs::None);
    const bool carries = step.node->as<ir::ScanAttrs>().carry != 0;
    if (carries) edge(ends.exit, ends.entry, "carried", "style=dotted, constraint=false");
    line("  }");
    return ends;
  }

  StepNodes print_branch(const BranchStep& step, const DeviceBranch* bound, const Label& label,
                         const std::string& style) {
    const StepNodes ends{new_node(), new_node()};
    node(ends.entry, label, joined("shape=diamond", style));
    node(ends.exit, {"end of the branch"}, joined("shape=ellipse", style));
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      begin_cluster({i == 0 ? "then" : "else"});
      const DevicePlan* body = bound == nullptr ? nullptr : bound->bodies[i].plan.get();
      print_body(*step.branches[i], body, ends, Graphs::OfSegments);
      line("  }");
    }
    return ends;
  }

  void begin_cluster(const Label& label) {
    line(text("  subgraph cluster_", next_++, " {"));
    line(text("  label=", dot_string(label), ";"));
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
