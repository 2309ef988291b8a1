// One backward pass over the expressions slices all groups at a time; only the first group that
// needs a kept value needs its arguments.
#include "backends/codegen/grid/kept_values.h"

#include "backends/codegen/kernel/needed.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

bool is_expensive(ir::Op op) {
  using enum ir::Op;
  static constexpr ir::Op kOps[] = {Exp,  Expm1,   Log, Log1p, Sqrt, Sin, Cos,
                                    Tanh, Sigmoid, Erf, Atan,  Div,  Mod, Pow};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

bool saves_work(const Expression& e) {
  return e.kind == ExpressionKind::Load || e.kind == ExpressionKind::Random ||
         (e.kind == ExpressionKind::Apply && is_expensive(e.op));
}

/// For each expression, whether it depends on a load from an operand that the kernel writes.
std::vector<bool> depends_on_written(const Kernel& kernel) {
  std::vector<bool> depends(kernel.expressions.size(), false);
  for (std::size_t i = 0; i < depends.size(); ++i) {
    const Expression& e = kernel.expressions[i];
    const auto depend_on = [&](int other) { depends[i] = depends[i] || depends[at(other)]; };
    for (const int argument : e.arguments) {
      if (argument >= 0) depend_on(argument);
    }
    if (e.kind != ExpressionKind::Load) continue;
    const Access& access = kernel.accesses[at(e.number)];
    depends[i] = depends[i] || kernel.operands[at(access.operand)].written;
    for (const int other : {access.dynamic, access.when}) {
      if (other >= 0) depend_on(other);
    }
  }
  return depends;
}

class Walk {
 public:
  Walk(const Kernel& kernel, const std::vector<StageGroup>& groups, std::int64_t points,
       std::int64_t registers)
      : kernel_(kernel),
        inner_(depends_on_inner(kernel)),
        written_(depends_on_written(kernel)),
        points_(points),
        left_(registers) {
    for (const StageGroup& group : groups) {
      if (kernel.stages[at(group.first)].inner) wanted_.push_back(roots(group));
    }
  }

  std::vector<int> run() {
    for (int i = static_cast<int>(kernel_.expressions.size()); i-- > 0;) visit(i);
    std::reverse(kept_.begin(), kept_.end());
    return std::move(kept_);
  }

 private:
  std::vector<bool> roots(const StageGroup& group) const {
    std::vector<bool> wanted(kernel_.expressions.size(), false);
    for (int stage = group.first; stage < group.last; ++stage) {
      for (const int root : roots_of(kernel_, kernel_.stages[at(stage)])) {
        if (root >= 0) wanted[at(root)] = true;
      }
    }
    return wanted;
  }

  void visit(int i) {
    const Expression& e = kernel_.expressions[at(i)];
    const auto wants = [&](const std::vector<bool>& wanted) { return wanted[at(i)]; };
    const auto users = std::count_if(wanted_.begin(), wanted_.end(), wants);
    const bool is_stable = inner_[at(i)] && !written_[at(i)];
    const std::int64_t cost = points_ * (dtype_bytes(e.dtype) == 8 ? 2 : 1);
    const bool is_kept = users > 1 && is_stable && saves_work(e) && cost <= left_;
    if (is_kept) {
      kept_.push_back(i);
      left_ -= cost;
    }
    for (std::vector<bool>& wanted : wanted_) {
      if (!wanted[at(i)]) continue;
      want_arguments(e, wanted);
      if (is_kept) return;
    }
  }

  void want_arguments(const Expression& e, std::vector<bool>& wanted) const {
    for (const int argument : e.arguments) {
      if (argument >= 0) wanted[at(argument)] = true;
    }
    if (e.kind != ExpressionKind::Load) return;
    const Access& access = kernel_.accesses[at(e.number)];
    for (const int other : {access.dynamic, access.when}) {
      if (other >= 0) wanted[at(other)] = true;
    }
  }

  const Kernel& kernel_;
  const std::vector<bool> inner_, written_;
  const std::int64_t points_;
  std::int64_t left_;
  std::vector<std::vector<bool>> wanted_;  // of groups over inner axes
  std::vector<int> kept_;
};

}  // namespace

std::vector<int> kept_values(const Kernel& kernel, const std::vector<StageGroup>& groups,
                             std::int64_t points, std::int64_t registers) {
  return Walk(kernel, groups, points, registers).run();
}

bool can_be_kept(const Kernel& kernel, int expression) {
  return depends_on_inner(kernel)[at(expression)] && !depends_on_written(kernel)[at(expression)];
}

}  // namespace kiln::codegen
