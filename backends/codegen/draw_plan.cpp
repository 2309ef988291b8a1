// Draws the steps of each plan in their order; the boxes of a tensor are the steps that write it.
#include "backends/codegen/draw_program.h"

#include "backends/codegen/plan/step_effects.h"
#include "core/ir/argument_text.h"
#include "core/ops/op.h"
#include "core/picture/node_groups.h"
#include "core/picture/node_text.h"
#include "core/types/at.h"
#include "core/types/text.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace kiln::codegen {
namespace {

using picture::Arrow;
using picture::BodyGroup;
using picture::Box;
using picture::Group;
using picture::BoxStyle;

/// The origin of a tensor: boxes, or the text of a variable or constant.
struct TensorSource {
  std::vector<int> boxes;
  std::string leaf;
};

/// A plan that is drawn: the sources of its slots, and the group of a body.
struct DrawnPlan {
  const Plan& plan;
  IdVector<SlotId, TensorSource> sources;
  std::optional<BodyGroup> body = {};

  explicit DrawnPlan(const Plan& drawn) : plan(drawn), sources(drawn.slots.size()) {
    for (const SlotId i : sources.ids()) {
      const Slot& slot = plan.slots[i];
      if (!slot.is<ConstantSlot>()) continue;
      const bool is_node = slot.node != nullptr && slot.node->op == ir::Op::Constant;
      sources[i].leaf = is_node ? picture::leaf_text(*slot.node) : text("constant ", type_of(slot));
    }
  }
  static ir::Type type_of(const Slot& slot) { return {slot.dtype, slot.dims}; }
};

/// The user's line of the node; none if it is unknown.
std::vector<std::string> lines_of(const ir::Node& node) {
  const std::string line = picture::source_text(node.origin);
  return line.empty() ? std::vector<std::string>{} : std::vector{line};
}

Box box_of(const Program& program, const KernelStep& step) {
  const BuiltKernel& built = program.kernels[step.kernel];
  const Kernel& kernel = built.kernel;
  std::string words = kernel.name;  // unique by the numbers of the kernel and of lines
  std::erase_if(words, [](char c) { return c >= '0' && c <= '9'; });
  Box box{.title = {kernel.name},
          .structure = text(words, " ", kernel.stages.size(), " ", kernel.expressions.size(), " ",
                            kernel.accesses.size(), " ", join_text(kernel.axes)),
          .style = BoxStyle::Kernel};
  for (const OperandId i : built.operands.ids()) {
    if (!kernel.operands[i].written || !built.operands[i]) continue;
    for (const std::string& line : lines_of(*built.operands[i].node)) {
      if (std::count(box.sources.begin(), box.sources.end(), line) == 0) {
        box.sources.push_back(line);
      }
    }
  }
  return box;
}
Box box_of(const char* name, const LibraryStep& step, const std::string& sizes) {
  const std::string what = text(name, step.bias ? " + bias" : "", print_relu(step));
  Box box{.title = {what},
          .sources = lines_of(*step.node),
          .structure = what + sizes,
          .style = BoxStyle::Contraction};
  if (!sizes.empty()) box.work.push_back(sizes);
  return box;
}
Box box_of(const Program&, const MatmulStep& step) {
  const BatchedMatmul& form = step.form;
  std::string sizes = text("M=", form.m.size, " N=", form.n.size, " K=", form.k.size);
  for (const MatmulAxis& axis : form.batch) sizes += text(", for each of ", axis.size);
  return box_of("matmul", step, sizes);
}
Box box_of(const Program&, const ConvolutionStep& step) { return box_of("convolution", step, ""); }
Box box_of(const Program&, const HostCallStep& step) {
  const std::string what = "host call " + step.node->as<ir::HostCallAttrs>().function;
  return {
      .title = {what}, .sources = lines_of(*step.node), .structure = what, .style = BoxStyle::Host};
}
Box box_of(const Program&, const RowUpdateStep& step) {
  return {.title = {text("row update of ", step.updates.size())},
          .sources = lines_of(*step.updates[0].node),
          .structure = "row update",
          .style = BoxStyle::Kernel};
}
Box box_of(const Program&, const AttentionStep& step) {
  const std::string what = step.node->op == ir::Op::Attention ? "attention" : "attention gradient";
  return {.title = {what},
          .sources = lines_of(*step.node),
          .structure = what,
          .style = BoxStyle::Contraction};
}
Box box_of(const Program&, const CopyStep&) {
  return {.title = {"copy"}, .structure = "copy", .style = BoxStyle::Work};
}

class PlanDrawer {
 public:
  PlanDrawer(const Compilation& compilation, const ir::Graph& graph, const std::string& title)
      : program_(compilation.program),
        graph_(graph),
        groups_(picture_, graph,
                [](const ir::Node& node) -> const ir::Origin& { return node.origin; }) {
    picture_.title = title;
    in_place_ = compilation.updates_in_place;
  }

  picture::Picture draw() {
    DrawnPlan top(program_.plan);
    for (std::size_t i = 0; i < top.plan.arguments.size(); ++i) {
      if (top.plan.arguments[i]) top.sources[top.plan.arguments[i]] = argument(i, top);
    }
    draw(top);
    for (std::size_t i = 0; i < top.plan.results.size(); ++i) add_result(i, top);
    groups_.mark_remote();
    picture::shorten(picture_);
    return std::move(picture_);
  }

 private:
  TensorSource argument(std::size_t number, const DrawnPlan& top) {
    const Slot& slot = top.plan.slots[top.plan.arguments[number]];
    if (slot.node->op == ir::Op::Variable) return {{}, picture::leaf_text(*slot.node)};
    const std::string_view given = given_name(*slot.node);
    const std::string name(given.empty() ? "input" : given);
    return {{add(Box{.title = {name}, .type = text(top.type_of(slot)), .style = BoxStyle::Input})},
            ""};
  }

  /// Adds the result to the steps that write it.
  void add_result(std::size_t number, const DrawnPlan& top) {
    std::string line = text("writes output ", number);
    if (number >= graph_.outputs.size()) {
      const std::size_t update = number - graph_.outputs.size();
      const ir::Node& variable = *graph_.updates[update].variable.node;
      const bool in_place = update < in_place_.size() && in_place_[update] != 0;
      line = text("updates ", variable.as<ir::VariableAttrs>().name, in_place ? " in place" : "");
    }
    for (const int writer : top.sources[top.plan.results[number]].boxes) {
      picture_.boxes[at(writer)].work.push_back(line);
      picture_.boxes[at(writer)].structure += "; result";
    }
  }

  int add(Box box, int level = 0) {
    levels_.push_back(level);
    return picture_.add(std::move(box));
  }
  void connect(const TensorSource& from, int to, Arrow::Kind kind = Arrow::Kind::Value) {
    for (const int box : from.boxes) picture_.add(Arrow{box, to, kind});
  }

  // ---- steps ----

  void draw(DrawnPlan& drawn) {
    const Plan& plan = drawn.plan;
    int region = -1;
    if (plan.region_begin < plan.region_end) {
      region = picture_.add(Group{print_region(plan), 0, Group::Kind::Parallel});
    }
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      const bool is_in_region = plan.region_begin <= s && s < plan.region_end;
      const Step& step = plan.steps[s];
      if (const auto* loop = std::get_if<LoopStep>(&step)) {
        draw(*loop, s, drawn);
      } else if (const auto* branch = std::get_if<BranchStep>(&step)) {
        draw(*branch, s, drawn);
      } else {
        draw(step, s, is_in_region ? region : -1, drawn);
      }
    }
  }

  /// `region`: the group of the parallel region that has the step; -1 for none.
  void draw(const Step& step, std::size_t number, int region, DrawnPlan& drawn) {
    Box box = std::visit(
        [&](const auto& one) -> Box {
          if constexpr (requires { box_of(program_, one); }) return box_of(program_, one);
          return {};
        },
        step);
    const StepEffects effects = effects_of(step, program_.kernels);
    int level = 0;
    for (const SlotId slot : effects.read) {
      const TensorSource& source = drawn.sources[slot];
      if (!source.leaf.empty()) box.work.push_back("reads " + source.leaf);
      for (const int from : source.boxes) level = std::max(level, levels_[at(from)]);
    }
    ++level;
    for (const SlotId slot : effects.written) {
      const Slot& tensor = drawn.plan.slots[slot];
      box.type += text(box.type.empty() ? "" : ", ", drawn.type_of(tensor));
    }
    box.title.insert(box.title.begin(), text("step ", number, ", level ", level));
    box.group = region >= 0 ? region : group_of(effects.written, drawn);
    const int drawn_box = add(std::move(box), level);
    for (const SlotId slot : effects.read) connect(drawn.sources[slot], drawn_box);
    for (const SlotId slot : effects.written) {
      // Several kernels may write parts of a tensor.
      std::vector<int>& writers = drawn.sources[slot].boxes;
      connect(drawn.sources[slot], drawn_box);
      writers.push_back(drawn_box);
    }
  }

  int group_of(const std::vector<SlotId>& written, const DrawnPlan& drawn) {
    const int outside = drawn.body ? drawn.body->group : 0;
    const ir::Node* node = written.empty() ? nullptr : drawn.plan.slots[written[0]].node;
    if (node == nullptr) return outside;
    return group_of(*node, drawn);
  }
  int group_of(const ir::Node& node, const DrawnPlan& drawn) {
    return drawn.body ? groups_.group_of(node, *drawn.body) : groups_.group_of(node);
  }

  // ---- loops and branches ----

  int add_group(const std::string& what, std::size_t number, const ir::Node& node, Group::Kind kind,
                const DrawnPlan& drawn) {
    const int group = group_of(node, drawn);
    return picture_.add(Group{
        text("step ", number, ": ", what, ", ", picture::source_text(node.origin)), group, kind});
  }

  DrawnPlan body_of(const Plan& plan, const ir::Node& node, int group) const {
    DrawnPlan body(plan);
    body.body = BodyGroup{group, node.origin.scope};
    return body;
  }

  void draw(const LoopStep& loop, std::size_t number, DrawnPlan& drawn) {
    const auto& attrs = loop.node->as<ir::ScanAttrs>();
    const std::string what =
        loop.node->op == ir::Op::While
            ? std::string("loop while carry 0 is true")
            : text("loop of ", attrs.length, " iterations", attrs.reverse ? ", backwards" : "",
                   loop.independent_rows ? ", rows in parallel" : "");
    const int group = add_group(what, number, *loop.node, Group::Kind::Loop, drawn);
    DrawnPlan body = body_of(*loop.body, *loop.node, group);
    const std::size_t consts = at(attrs.consts), carry = at(attrs.carry);
    std::vector<int> carries(carry, -1);
    for (std::size_t i = 0; i < body.plan.arguments.size(); ++i) {
      const SlotId slot = body.plan.arguments[i];
      if (!slot) continue;
      TensorSource& source = body.sources[slot];
      if (i == 0) {
        source.leaf = "step";
        continue;
      }
      const TensorSource& operand = drawn.sources[loop.operands[i - 1]];
      const bool is_carry = i > consts && i <= consts + carry;
      if (i <= consts) {
        source = operand;
        continue;
      }
      Box box{.title = {is_carry ? text("carry ", i - 1 - consts) : "slice of this iteration"},
              .type = text(body.type_of(body.plan.slots[slot])),
              .style = BoxStyle::Input,
              .group = group};
      if (!operand.leaf.empty()) box.title.push_back("from " + operand.leaf);
      const int input = add(std::move(box));
      connect(operand, input);
      source.boxes = {input};
      if (is_carry) carries[i - 1 - consts] = input;
    }
    draw(body);
    for (std::size_t i = 0; i < body.plan.results.size(); ++i) {
      const TensorSource& result = body.sources[body.plan.results[i]];
      if (i < carry && carries[i] >= 0) connect(result, carries[i], Arrow::Kind::Next);
      drawn.sources[loop.results[i]] = result;
    }
  }

  void draw(const BranchStep& branch, std::size_t number, DrawnPlan& drawn) {
    const int group = add_group("branch", number, *branch.node, Group::Kind::Branch, drawn);
    const TensorSource& predicate = drawn.sources[branch.operands[0]];
    const int choice =
        add(Box{.title = {"if " + predicate.leaf}, .style = BoxStyle::Choice, .group = group});
    connect(predicate, choice);
    for (const std::size_t b : {std::size_t{0}, std::size_t{1}}) {
      const int inner = picture_.add(Group{b == 0 ? "then" : "else", group, Group::Kind::Branch});
      DrawnPlan body = body_of(*branch.branches[b], *branch.node, inner);
      for (std::size_t i = 0; i < body.plan.arguments.size(); ++i) {
        const SlotId slot = body.plan.arguments[i];
        if (slot) body.sources[slot] = drawn.sources[branch.operands[i + 1]];
      }
      draw(body);
      for (std::size_t i = 0; i < body.plan.results.size(); ++i) {
        const std::vector<int>& boxes = body.sources[body.plan.results[i]].boxes;
        std::vector<int>& all = drawn.sources[branch.results[i]].boxes;
        all.insert(all.end(), boxes.begin(), boxes.end());
      }
    }
  }

  const Program& program_;
  const ir::Graph& graph_;
  std::vector<std::uint8_t> in_place_;
  picture::Picture picture_;
  picture::NodeGroups groups_;
  std::vector<int> levels_;  // of each box
};

}  // namespace

picture::Picture draw_plan(const Compilation& compilation, const ir::Graph& graph,
                           const std::string& title) {
  return PlanDrawer(compilation, graph, title).draw();
}

}  // namespace kiln::codegen
