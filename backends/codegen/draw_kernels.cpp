// Numbers boxes by fusion groups. The group of an epilogue that a library call computes has the box
// of that call.
#include "backends/codegen/draw_program.h"

#include "core/ops/op.h"
#include "core/picture/draw_graph.h"
#include "core/types/at.h"
#include "core/types/text.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

namespace kiln::codegen {
namespace {

using ir::Node;
using picture::Box;
using picture::Grouping;
using picture::BoxStyle;

/// The boxes of one computation: each node with the number of its fusion group.
class GroupedNodes {
 public:
  GroupedNodes(const Compilation& compilation, std::size_t computation)
      : compilation_(compilation), computation_(computation) {
    const std::vector<FusionGroup>& groups = plan().groups;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (const auto* kernel = std::get_if<KernelGroup>(&groups[g])) {
        add(*kernel, g);
      } else if (const auto* node = std::get_if<NodeGroup>(&groups[g])) {
        if (node->kind != NodeGroup::Kind::WrittenTensor) {
          box_.emplace(node->node, static_cast<int>(g));
        }
      }
    }
  }

  int box_of(const Node& node) const {
    const auto found = box_.find(&node);
    return found == box_.end() ? -1 : found->second;
  }

  Box new_box(int number) const {
    const FusionGroup& group = plan().groups[at(number)];
    if (const auto* kernel = std::get_if<KernelGroup>(&group)) {
      Box box{.title = {}, .style = BoxStyle::Kernel};
      for (const KernelId k : kernels_of(number)) {
        box.title.push_back(compilation_.program.kernels[k].kernel.name);
      }
      std::string axes;
      for (std::size_t i = 0; i < kernel->domain.size(); ++i) {
        const bool reduced = kernel->has_reduced_axes && kernel->reduced[i];
        axes += text(i == 0 ? "" : " x ", kernel->domain[i], reduced ? " (reduced)" : "");
      }
      box.title.push_back(axes.empty() ? "for one point" : "for " + axes);
      return box;
    }
    switch (std::get<NodeGroup>(group).kind) {
      case NodeGroup::Kind::HostCall: return {.title = {"host call"}, .style = BoxStyle::Host};
      case NodeGroup::Kind::RowUpdate: return {.title = {"row update"}, .style = BoxStyle::Kernel};
      case NodeGroup::Kind::Attention:
        return {.title = {"attention"}, .style = BoxStyle::Contraction};
      default: return {.title = {"library call"}, .style = BoxStyle::Contraction};
    }
  }

  Grouping of_body(const Node& node, std::size_t body) const;

 private:
  const FusionPlan& plan() const { return compilation_.fusion_plans[computation_]; }
  const std::vector<KernelId>& kernels_of(int group) const {
    return compilation_.kernels_of_groups[computation_][at(group)];
  }

  void add(const KernelGroup& kernel, std::size_t group) {
    const std::vector<KernelId>& kernels = kernels_of(static_cast<int>(group));
    if (kernels.empty()) return;  // all its values are rematerialised
    const bool is_dropped = std::count(kernels.begin(), kernels.end(), KernelId()) != 0;
    const int box = is_dropped ? call_before(kernel) : static_cast<int>(group);
    if (box < 0) return;
    for (const Member& member : kernel.members) box_.emplace(member.node, box);
  }

  /// The box of the library call whose result the members of a dropped kernel read.
  int call_before(const KernelGroup& kernel) const {
    for (const Member& member : kernel.members) {
      for (const ir::Value& operand : member.node->operands) {
        const Node* node = operand.node.get();
        while (!box_.contains(node) && !node->operands.empty()) node = node->operands[0].node.get();
        const int box = box_of(*node);
        if (box >= 0 && std::holds_alternative<NodeGroup>(plan().groups[at(box)])) return box;
      }
    }
    return -1;
  }

  const Compilation& compilation_;
  std::size_t computation_;
  std::unordered_map<const Node*, int> box_;
};

Grouping grouping_of(const Compilation& compilation, std::size_t computation) {
  const auto nodes = std::make_shared<const GroupedNodes>(compilation, computation);
  return {.box_of = [nodes](const Node& node) { return nodes->box_of(node); },
          .new_box = [nodes](int number) { return nodes->new_box(number); },
          .of_body = [nodes](const Node& node,
                             std::size_t body) { return nodes->of_body(node, body); }};
}

Grouping GroupedNodes::of_body(const Node& node, std::size_t body) const {
  return grouping_of(compilation_, compilation_.computations[computation_].bodies.at(&node)[body]);
}

}  // namespace

ir::Graph drawn_graph(const ir::Graph& module_graph, const std::vector<ir::Value>& results) {
  ir::Graph graph{.inputs = module_graph.inputs, .outputs = results, .updates = {}};
  graph.outputs.resize(module_graph.outputs.size());
  for (std::size_t i = 0; i < module_graph.updates.size(); ++i) {
    graph.updates.push_back(
        {module_graph.updates[i].variable, results[module_graph.outputs.size() + i]});
  }
  return graph;
}

picture::Picture draw_kernels(const Compilation& compilation, const ir::Graph& graph,
                              const std::string& title) {
  return picture::draw_groups(graph, title,
                              grouping_of(compilation, compilation.computations.size() - 1));
}

}  // namespace kiln::codegen
