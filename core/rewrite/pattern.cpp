// Builds patterns as shared immutable trees.
#include "core/rewrite/pattern.h"

namespace kiln::rewrite {
namespace {

template <class Form>
Pattern make_pattern(Form form) {
  return Pattern(std::make_shared<const PatternNode>(PatternNode{std::move(form)}));
}

}  // namespace

Pattern::Pattern(double number)
    : node_(std::make_shared<const PatternNode>(PatternNode{Number{number}})) {}

Pattern variable(int index) { return make_pattern(Variable{.index = index}); }

Pattern condition(int index) {
  return make_pattern(Variable{.index = index, .is_condition = true});
}

Pattern apply(ir::Op op, std::vector<Pattern> operands) {
  return make_pattern(Application{.op = op, .operands = std::move(operands)});
}

}  // namespace kiln::rewrite
