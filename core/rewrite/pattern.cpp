// Patterns as shared immutable trees. The equations are in equations.cpp, matching in match.cpp.
#include "core/rewrite/pattern.h"

namespace kiln::rewrite {
namespace {

Pattern made(PatternNode node) {
  return Pattern(std::make_shared<const PatternNode>(std::move(node)));
}

}  // namespace

Pattern::Pattern(double number) {
  auto node = std::make_shared<PatternNode>();
  node->number = number;
  node_ = std::move(node);
}

Pattern variable(int index) {
  PatternNode node;
  node.kind = PatternNode::Kind::Variable;
  node.variable = index;
  return made(std::move(node));
}

Pattern condition(int index) {
  PatternNode node;
  node.kind = PatternNode::Kind::Variable;
  node.variable = index;
  node.is_bool = true;
  return made(std::move(node));
}

Pattern apply(ir::Op op, std::vector<Pattern> operands) {
  PatternNode node;
  node.kind = PatternNode::Kind::Apply;
  node.op = op;
  node.operands = std::move(operands);
  return made(std::move(node));
}

}  // namespace kiln::rewrite
