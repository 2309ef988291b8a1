// Compiles a Dim to steps in postfix order and runs them; the stack's depth is known beforehand.
#include "core/ir/dim_program.h"

#include "core/ir/checked_size.h"

#include <algorithm>
#include <array>

namespace kiln::ir {
namespace {

/// Deeper than any dim of a real program needs.
constexpr std::size_t kStack = 16;

}  // namespace

DimProgram::DimProgram(const Dim& dim, std::span<const Symbol> symbols) {
  steps_.clear();
  most_ = 0;
  compile(dim, symbols);
}

void DimProgram::push(Action action, std::int64_t number) {
  steps_.push_back({action, number});
  most_ = std::max(most_, ++depth_);
}

void DimProgram::combine(Action action) {
  steps_.push_back({action, 0});
  --depth_;
}

void DimProgram::compile(const Dim& dim, std::span<const Symbol> symbols) {
  if (dim.is_static()) return push(Action::Push, dim.value());
  push(Action::Push, dim.expr()->constant);
  for (const DimTerm& term : dim.expr()->terms) {
    push(Action::Push, term.coefficient);
    for (const auto& factor : term.factors) {
      compile(*factor, symbols);
      combine(Action::Mul);
    }
    combine(Action::Add);
  }
}

void DimProgram::compile(const DimAtom& atom, std::span<const Symbol> symbols) {
  if (atom.kind == DimAtomKind::Symbol) {
    const auto found = std::find(symbols.begin(), symbols.end(), atom.symbol);
    bound_ = bound_ && found != symbols.end();
    return push(Action::Load, found - symbols.begin());
  }
  compile(atom.left, symbols);
  compile(atom.right, symbols);
  constexpr Action kActions[] = {Action::Load, Action::FloorDiv, Action::Mod, Action::Max,
                                 Action::Min};
  combine(kActions[static_cast<std::size_t>(atom.kind)]);
}

std::int64_t DimProgram::operator()(std::span<const std::int64_t> values) const {
  if (steps_.size() == 1 && steps_[0].action == Action::Push) return steps_[0].number;
  if (most_ <= kStack) {
    std::array<std::int64_t, kStack> stack;
    return run(values, stack);
  }
  std::vector<std::int64_t> stack(most_);
  return run(values, stack);
}

std::int64_t DimProgram::run(std::span<const std::int64_t> values,
                             std::span<std::int64_t> stack) const {
  std::size_t top = 0;  // the next free place
  for (const Step& step : steps_) {
    if (step.action == Action::Push || step.action == Action::Load) {
      stack[top++] = step.action == Action::Push
                         ? step.number
                         : values[static_cast<std::size_t>(step.number)];
      continue;
    }
    const std::int64_t right = stack[--top];
    std::int64_t& left = stack[top - 1];
    switch (step.action) {
      case Action::Add: left = checked::add(left, right); break;
      case Action::Mul: left = checked::mul(left, right); break;
      case Action::FloorDiv: left = evaluate(DimAtomKind::FloorDiv, left, right); break;
      case Action::Mod: left = evaluate(DimAtomKind::Mod, left, right); break;
      case Action::Max: left = std::max(left, right); break;
      case Action::Min: left = std::min(left, right); break;
      case Action::Push:
      case Action::Load: break;
    }
  }
  return stack[0];
}

}  // namespace kiln::ir
