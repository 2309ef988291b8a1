// Compiles a Dim to postfix instructions, which run on a stack whose depth is known beforehand. The
// results of its operations stay at the bottom of the stack, where all users load them.
#include "core/ir/dim_evaluator.h"

#include "core/ir/checked_size.h"

#include <algorithm>
#include <array>

namespace kiln::ir {
namespace {

/// The depth up to which evaluation does not allocate; dims of real programs need less.
constexpr std::size_t kInlineDepth = 16;

}  // namespace

DimEvaluator::Action DimEvaluator::action_of(DimOp op) {
  switch (op) {
    case DimOp::FloorDiv: return Action::FloorDiv;
    case DimOp::Mod: return Action::Mod;
    case DimOp::Max: return Action::Max;
    case DimOp::Min: break;
  }
  return Action::Min;
}

DimEvaluator::DimEvaluator(const Dim& dim, std::span<const Symbol> symbols) {
  steps_.clear();
  max_depth_ = 0;
  Results results;
  for (const DimAtom* atom : operations_of(dim)) {
    const auto& [op, left, right] = *atom->operation();
    compile(left, symbols, results);
    compile(right, symbols, results);
    combine(action_of(op));
    results.emplace(atom, depth_ - 1);
  }
  compile(dim, symbols, results);
}

void DimEvaluator::push(Action action, std::int64_t number) {
  steps_.push_back({action, number});
  max_depth_ = std::max(max_depth_, ++depth_);
}

void DimEvaluator::combine(Action action) {
  steps_.push_back({action, 0});
  --depth_;
}

void DimEvaluator::compile(const Dim& dim, std::span<const Symbol> symbols,
                           const Results& results) {
  if (dim.is_static()) return push(Action::Push, dim.value());
  push(Action::Push, dim.expr()->constant);
  for (const DimTerm& term : dim.expr()->terms) {
    push(Action::Push, term.coefficient);
    for (const DimAtomRef& factor : term.factors) {
      if (const Symbol* symbol = factor->symbol()) {
        load(*symbol, symbols);
      } else {
        push(Action::Reload, static_cast<std::int64_t>(results.at(factor.get())));
      }
      combine(Action::Mul);
    }
    combine(Action::Add);
  }
}

void DimEvaluator::load(const Symbol& symbol, std::span<const Symbol> symbols) {
  const auto found = std::find(symbols.begin(), symbols.end(), symbol);
  bound_ = bound_ && found != symbols.end();
  push(Action::Load, found - symbols.begin());
}

std::int64_t DimEvaluator::operator()(std::span<const std::int64_t> values) const {
  if (steps_.size() == 1 && steps_[0].action == Action::Push) return steps_[0].number;
  if (max_depth_ <= kInlineDepth) {
    std::array<std::int64_t, kInlineDepth> stack;
    return run(values, stack);
  }
  std::vector<std::int64_t> stack(max_depth_);
  return run(values, stack);
}

std::int64_t DimEvaluator::run(std::span<const std::int64_t> values,
                               std::span<std::int64_t> stack) const {
  std::size_t top = 0;  // the next free entry
  bool overflows = false;  // the product on top of the stack, unless a later factor is 0
  for (const Step& step : steps_) {
    const auto index = static_cast<std::size_t>(step.number);
    if (step.action <= Action::Reload) {
      stack[top++] = step.action == Action::Push   ? step.number
                     : step.action == Action::Load ? values[index]
                                                   : stack[index];
      continue;
    }
    const std::int64_t right = stack[--top];
    std::int64_t& left = stack[top - 1];
    switch (step.action) {
      case Action::Add:
        if (overflows) checked::overflow();
        left = checked::add(left, right);
        break;
      case Action::Mul: checked::multiply(left, right, overflows); break;
      case Action::FloorDiv: left = evaluate(DimOp::FloorDiv, left, right); break;
      case Action::Mod: left = evaluate(DimOp::Mod, left, right); break;
      case Action::Max: left = std::max(left, right); break;
      case Action::Min: left = std::min(left, right); break;
      case Action::Push:
      case Action::Load:
      case Action::Reload: break;
    }
  }
  return stack[top - 1];
}

}  // namespace kiln::ir
