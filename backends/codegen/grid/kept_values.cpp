// One backward pass over the expressions slices all groups at a time; only the first group that
// needs a kept value needs its arguments.
#include "backends/codegen/grid/kept_values.h"

#include "backends/codegen/kernel/needed.h"

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
ExpressionFlags depends_on_written(const Kernel& kernel) {
  ExpressionFlags depends(kernel.expressions.size(), false);
  for (const ExpressionId i : depends.ids()) {
    const Expression& e = kernel.expressions[i];
    const bool is_load = e.kind == ExpressionKind::Load;
    depends[i] = is_load && kernel.operands[kernel.accesses[e.access].operand].written;
    visit_arguments(kernel, e, [&](ExpressionId one) { depends[i] = depends[i] || depends[one]; });
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
      if (kernel.stages[group.first].inner) wanted_.push_back(roots(group));
    }
  }

  std::vector<ExpressionId> run() {
    for (ExpressionId i = kernel_.expressions.back_id(); i; --i) visit(i);
    std::reverse(kept_.begin(), kept_.end());
    return std::move(kept_);
  }

 private:
  ExpressionFlags roots(const StageGroup& group) const {
    ExpressionFlags wanted(kernel_.expressions.size(), false);
    for (const StageId stage : group) {
      for (const ExpressionId root : roots_of(kernel_, kernel_.stages[stage])) {
        if (root) wanted[root] = true;
      }
    }
    return wanted;
  }

  void visit(ExpressionId i) {
    const Expression& e = kernel_.expressions[i];
    const auto wants = [&](const ExpressionFlags& wanted) { return wanted[i]; };
    const auto users = std::count_if(wanted_.begin(), wanted_.end(), wants);
    const bool is_stable = inner_[i] && !written_[i];
    const std::int64_t cost = points_ * (dtype_bytes(e.dtype) == 8 ? 2 : 1);
    const bool is_kept = users > 1 && is_stable && saves_work(e) && cost <= left_;
    if (is_kept) {
      kept_.push_back(i);
      left_ -= cost;
    }
    for (ExpressionFlags& wanted : wanted_) {
      if (!wanted[i]) continue;
      visit_arguments(kernel_, e, [&](ExpressionId argument) { wanted[argument] = true; });
      if (is_kept) return;
    }
  }

  const Kernel& kernel_;
  const ExpressionFlags inner_, written_;
  const std::int64_t points_;
  std::int64_t left_;
  std::vector<ExpressionFlags> wanted_;  // of groups over inner axes
  std::vector<ExpressionId> kept_;
};

}  // namespace

std::vector<ExpressionId> kept_values(const Kernel& kernel, const std::vector<StageGroup>& groups,
                                      std::int64_t points, std::int64_t registers) {
  return Walk(kernel, groups, points, registers).run();
}

bool can_be_kept(const Kernel& kernel, ExpressionId expression) {
  return depends_on_inner(kernel)[expression] && !depends_on_written(kernel)[expression];
}

}  // namespace kiln::codegen
