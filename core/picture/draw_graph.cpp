// Draws each level, the graph or a body, along its topological order.
#include "core/picture/draw_graph.h"

#include "core/ir/traverse.h"
#include "core/ops/op.h"
#include "core/picture/node_groups.h"
#include "core/picture/node_text.h"
#include "core/types/at.h"
#include "core/types/text.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

namespace kiln::picture {
namespace {

using ir::Node;
using ir::Op;
using ir::Value;

/// The origin of a value in the picture: boxes, or a text for the lines of its users.
struct Source {
  std::vector<int> boxes;
  std::string leaf, structure;  // empty if there are boxes

  void add(const Source& other) {
    for (const int box : other.boxes) {
      if (std::find(boxes.begin(), boxes.end(), box) == boxes.end()) boxes.push_back(box);
    }
  }
};

/// Where the nodes of a graph or of a body are drawn.
struct Level {
  const Grouping* grouping = nullptr;  // null: a box for each node
  std::vector<Source> parameters = {};
  std::optional<BodyGroup> body = {};  // of a loop or branch
  std::unordered_map<Value, Source, ir::ValueHash> sources = {};
  std::unordered_map<int, int> boxes = {};  // by their numbers in the grouping
};

BoxStyle style_of(const Node& node) {
  switch (def(node).lowering) {
    case ir::Lowering::Contraction: return BoxStyle::Contraction;
    case ir::Lowering::Reduce:
    case ir::Lowering::Running: return BoxStyle::Reduction;
    default: break;
  }
  if (node.op == Op::Conv) return BoxStyle::Contraction;
  return node.op == Op::HostCall ? BoxStyle::Host : BoxStyle::Work;
}

/// Whether the node has the elements of its operand, or some of them.
bool is_view(const Node& node) {
  return def(node).lowering == ir::Lowering::Movement && node.operands.size() == 1;
}

/// The text without the names of the scopes around its box: "dense/kernel" in the scope "encoder"
/// for "encoder/dense/kernel".
std::string without_scope(const std::string& leaf, const ir::Scope* scope) {
  for (; scope != nullptr && !leaf.empty(); scope = scope->parent) {
    const std::string path = ir::scope_path(scope) + "/";
    if (leaf.starts_with(path)) return leaf.substr(path.size());
  }
  return leaf;
}

/// The text of a node that depends on leaves alone. Without their texts beyond 80 characters: those
/// of a node's operands may be equal, and twice as long at every node of a chain.
std::string leaf_of(const Node& node, const std::vector<std::string>& operands) {
  constexpr std::size_t kMaxLeaf = 80;
  const std::string whole = work_text(node, operands);
  return whole.size() <= kMaxLeaf ? whole : text(def(node).name, "(...)");
}

class GraphDrawer {
 public:
  GraphDrawer(const ir::Graph& graph, const std::string& title, OriginOf origin_of)
      : graph_(graph), groups_(picture_, graph, std::move(origin_of)) {
    picture_.title = title;
  }

  Picture draw(const Grouping* grouping) {
    Level level{.grouping = grouping};
    std::vector<Value> roots = graph_.inputs;
    for (const Value& root : graph_.roots()) roots.push_back(root);
    draw(roots, level);
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      add_result(text("output ", i), graph_.outputs[i], 0, level);
    }
    for (const ir::Update& update : graph_.updates) {
      add_result("update " + update.variable.node->as<ir::VariableAttrs>().name, update.value,
                 groups_.updates(), level);
    }
    groups_.mark_remote();
    shorten(picture_);
    return std::move(picture_);
  }

 private:
  void draw(const std::vector<Value>& roots, Level& level) {
    for (const Node* node : ir::topological_order(roots)) draw(*node, level);
  }

  void draw(const Node& node, Level& level) {
    if (node.op == Op::Scan || node.op == Op::While) return draw_loop(node, level);
    if (node.op == Op::Cond) return draw_branch(node, level);
    const Source source = source_of(node, level);
    for (std::uint32_t i = 0; i < node.types.size(); ++i) level.sources[node.result(i)] = source;
  }

  Source source_of(const Node& node, Level& level) {
    if (node.op == Op::Parameter) {
      return level.parameters[at(node.as<ir::ParameterAttrs>().index)];
    }
    if (node.op == Op::Placeholder) return input_box(node);
    std::vector<std::string> texts, structures;
    Source all;
    for (const Value& operand : node.operands) {
      const Source& source = level.sources.at(operand);
      all.add(source);
      texts.push_back(without_scope(source.leaf, groups_.origin_of(node).scope));
      structures.push_back(source.structure);
    }
    if (node.operands.empty()) return {{}, leaf_text(node), leaf_structure(node)};
    if (is_view(node) && all.boxes.empty()) return level.sources.at(node.operands[0]);
    if (level.grouping == nullptr) {
      // Broadcasting changes no element, and users show it by their types.
      if (node.op == Op::Broadcast) return all;
    } else if (level.grouping->box_of(node) < 0) {
      if (!all.boxes.empty()) return all;
      return {{}, leaf_of(node, texts), leaf_of(node, structures)};
    }
    const int number = box_for(node, level);
    Box& box = picture_.boxes[at(number)];
    box.work.push_back(work_text(node, texts));
    box.structure += work_text(node, structures) + ";";
    box.type = types_text(node);
    box.group = group_of(node, level);
    const std::string line = source_text(groups_.origin_of(node));
    if (!line.empty() && std::count(box.sources.begin(), box.sources.end(), line) == 0) {
      box.sources.push_back(line);
    }
    for (const int from : all.boxes) picture_.add(Arrow{from, number});
    return {{number}, "", ""};
  }

  int box_for(const Node& node, Level& level) {
    if (level.grouping == nullptr) return picture_.add(Box{.style = style_of(node)});
    const int number = level.grouping->box_of(node);
    const auto [entry, is_new] = level.boxes.emplace(number, 0);
    if (is_new) entry->second = picture_.add(level.grouping->new_box(number));
    return entry->second;
  }

  Source input_box(const Node& node) {
    const std::string& name = node.as<ir::PlaceholderAttrs>().name;
    return {{picture_.add(Box{.title = {name.empty() ? "input" : name},
                              .type = types_text(node),
                              .style = BoxStyle::Input})},
            "",
            ""};
  }

  int group_of(const Node& node, const Level& level) {
    return level.body ? groups_.group_of(node, *level.body) : groups_.group_of(node);
  }

  void add_result(const std::string& name, const Value& value, int group, const Level& level) {
    const Source& source = level.sources.at(value);
    const int box = picture_.add(Box{.title = {name},
                                     .type = source.leaf,
                                     .structure = "result",
                                     .style = BoxStyle::Result,
                                     .group = group});
    connect(source, box);
  }

  void connect(const Source& from, int to, Arrow::Kind kind = Arrow::Kind::Value) {
    for (const int box : from.boxes) picture_.add(Arrow{box, to, kind});
  }

  // ---- loops and branches ----

  std::string named(const std::string& what, const Node& node) const {
    const std::string line = source_text(groups_.origin_of(node));
    return line.empty() ? what : text(what, ": ", line);
  }

  Level body_level(const Node& node, std::size_t body, int group, Grouping& grouping,
                   const Level& level) const {
    Level inner{.body = BodyGroup{group, groups_.origin_of(node).scope}};
    if (level.grouping != nullptr) {
      grouping = level.grouping->of_body(node, body);
      inner.grouping = &grouping;
    }
    return inner;
  }

  void draw_loop(const Node& node, Level& level) {
    const auto& attrs = node.as<ir::ScanAttrs>();
    const std::string what = node.op == Op::While ? std::string("loop while carry 0 is true")
                                                  : text("loop of ", attrs.length, " iterations",
                                                         attrs.reverse ? ", backwards" : "");
    const int group =
        picture_.add(Group{named(what, node), group_of(node, level), Group::Kind::Loop});
    Grouping grouping;
    Level body = body_level(node, 0, group, grouping, level);
    const std::size_t consts = at(attrs.consts), carry = at(attrs.carry);
    body.parameters.push_back({{}, "step", "step"});
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      const Source& operand = level.sources.at(node.operands[i]);
      const ir::Type& type = attrs.body->parameters[i + 1];
      if (i < consts) {
        body.parameters.push_back(operand);
      } else if (i < consts + carry) {
        body.parameters.push_back(loop_input(text("carry ", i - consts), type, operand, group));
      } else {
        body.parameters.push_back(loop_input("slice of this iteration", type, operand, group));
      }
    }
    draw(attrs.body->results, body);
    for (std::size_t i = 0; i < attrs.body->results.size(); ++i) {
      Source result = body.sources.at(attrs.body->results[i]);
      if (i < carry) {
        const Source& carried = body.parameters[1 + consts + i];
        connect(result, carried.boxes[0], Arrow::Kind::Next);
        if (result.boxes.empty()) result = carried;
      }
      level.sources[node.result(static_cast<std::uint32_t>(i))] = std::move(result);
    }
  }

  Source loop_input(const std::string& name, const ir::Type& type, const Source& operand,
                    int group) {
    Box box{.title = {name},
            .type = text(type),
            .structure = name + operand.structure,
            .style = BoxStyle::Input,
            .group = group};
    if (!operand.leaf.empty()) box.title.push_back("from " + operand.leaf);
    const int number = picture_.add(std::move(box));
    connect(operand, number);
    return {{number}, "", ""};
  }

  void draw_branch(const Node& node, Level& level) {
    const auto& attrs = node.as<ir::CondAttrs>();
    const int group =
        picture_.add(Group{named("branch", node), group_of(node, level), Group::Kind::Branch});
    const Source& predicate = level.sources.at(node.operands[0]);
    const int choice = picture_.add(Box{.title = {"if " + predicate.leaf},
                                        .structure = "if",
                                        .style = BoxStyle::Choice,
                                        .group = group});
    connect(predicate, choice);
    std::vector<Source> results(node.types.size());
    for (const std::size_t b : {std::size_t{0}, std::size_t{1}}) {
      const ir::Lambda& lambda = b == 0 ? *attrs.then_branch : *attrs.else_branch;
      const int inner = picture_.add(Group{b == 0 ? "then" : "else", group, Group::Kind::Branch});
      Grouping grouping;
      Level body = body_level(node, b, inner, grouping, level);
      for (std::size_t i = 1; i < node.operands.size(); ++i) {
        body.parameters.push_back(level.sources.at(node.operands[i]));
      }
      draw(lambda.results, body);
      for (std::size_t i = 0; i < results.size(); ++i) {
        const Source& result = body.sources.at(lambda.results[i]);
        results[i].add(result.boxes.empty() ? Source{{choice}, "", ""} : result);
      }
    }
    for (std::uint32_t i = 0; i < results.size(); ++i) level.sources[node.result(i)] = results[i];
  }

  const ir::Graph& graph_;
  Picture picture_;
  NodeGroups groups_;
};

}  // namespace

Picture draw_module(const module::Module& module) {
  const OriginOf origin_of = [&](const Node& node) -> const ir::Origin& {
    return module.origin_of(node);
  };
  return GraphDrawer(module.graph, module.name, origin_of).draw(nullptr);
}

Picture draw_groups(const ir::Graph& graph, const std::string& title, const Grouping& grouping) {
  const OriginOf origin_of = [](const Node& node) -> const ir::Origin& { return node.origin; };
  return GraphDrawer(graph, title, origin_of).draw(&grouping);
}

}  // namespace kiln::picture
