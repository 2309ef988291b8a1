// NaN: finds which expressions depend on a maximum m, and which are NaN where the sum of exp(x - m)
// is. Zeros: if the maximum of a row is 0 and the row has zeros of both signs, m may be either, and
// so may zeros of x - m. exp(x - m) is 1 for both; the sum is then at least 2, so x - m - log(sum)
// is not 0. Any other use of m or of x - m is rejected.
#include "backends/codegen/kernel/unpropagated_nan.h"

#include "backends/codegen/kernel/signs.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Op;

bool propagates_nan(Op op) {
  return op == Op::Add || op == Op::Sub || op == Op::Mul || op == Op::Div || op == Op::Neg ||
         op == Op::Log;
}

class MaximumUses {
 public:
  /// `sum`: the stage that sums exp(x - the result of `maximum`).
  MaximumUses(const Kernel& kernel, StageId maximum, StageId sum)
      : kernel_(kernel), maximum_(maximum), sum_(sum) {
    depends_.resize(kernel.expressions.size());
    is_nan_.resize(kernel.expressions.size());
    for (const ExpressionId e : kernel.expressions.ids()) mark(e);
  }

  /// Whether every use is NaN where the sum is, and has the same bits for both zeros.
  bool allow_any_nan_or_zero() const {
    for (const ExpressionId e : kernel_.expressions.ids()) {
      if (!allows_any_zero(kernel_.expressions[e])) return false;
    }
    for (const Access& access : kernel_.accesses) {
      if (depends(access.dynamic) || depends(access.when)) return false;
    }
    for (const StageId s : kernel_.stages.ids()) {
      const Stage& stage = kernel_.stages[s];
      if (s != sum_ && depends(stage.value)) return false;
      for (const Store& store : stage.stores) {
        if (is_difference(store.value) || is_result(store.value, maximum_)) return false;
        if (!depends(store.value) || is_nan_[store.value]) continue;
        if (!is_overwritten(s, store)) return false;
      }
    }
    return true;
  }

 private:
  bool depends(ExpressionId expression) const { return expression && depends_[expression]; }

  bool is_result(ExpressionId expression, StageId stage) const {
    const Expression& x = kernel_.expressions[expression];
    return x.kind == ExpressionKind::StageResult && x.stage == stage;
  }

  /// Whether it is x - maximum, for the x of the maximum. (Where NaN is ignored, another operand
  /// may exceed the maximum, though never_positive() of signs.h may say that it does not.)
  bool is_difference(const Expression& e) const {
    return e.kind == ExpressionKind::Apply && e.op == Op::Sub &&
           e.arguments[0] == kernel_.stages[maximum_].value && is_result(e.arguments[1], maximum_);
  }
  bool is_difference(ExpressionId expression) const {
    return is_difference(kernel_.expressions[expression]);
  }

  bool is_log_of_sum(ExpressionId expression) const {
    const Expression& x = kernel_.expressions[expression];
    return x.kind == ExpressionKind::Apply && x.op == Op::Log && is_result(x.arguments[0], sum_);
  }

  /// Whether `user` uses the maximum, if at all, as x - maximum, and x - maximum in exp or in
  /// x - maximum - log(sum).
  bool allows_any_zero(const Expression& user) const {
    for (std::size_t i = 0; i < user.arguments.size(); ++i) {
      const ExpressionId argument = user.arguments[i];
      if (!argument) continue;
      if (is_result(argument, maximum_) && !is_difference(user)) return false;
      if (!is_difference(argument)) continue;
      const bool is_exp = user.kind == ExpressionKind::Apply && user.op == Op::Exp;
      const bool is_sub = user.kind == ExpressionKind::Apply && user.op == Op::Sub;
      if (!is_exp && !(is_sub && i == 0 && is_log_of_sum(user.arguments[1]))) return false;
    }
    return true;
  }

  void mark(ExpressionId e) {
    const Expression& x = kernel_.expressions[e];
    if (x.kind == ExpressionKind::StageResult) {
      is_nan_[e] = x.stage == sum_;
      depends_[e] = is_nan_[e] || x.stage == maximum_;
      return;
    }
    if (x.kind == ExpressionKind::Load) {
      depends_[e] = is_written_by_sum(kernel_.accesses[x.access].operand);
      return;
    }
    for (const ExpressionId argument : x.arguments) {
      if (!argument) continue;
      depends_[e] = depends_[e] || depends_[argument];
      if (x.kind != ExpressionKind::Apply || !propagates_nan(x.op)) continue;
      is_nan_[e] = is_nan_[e] || is_nan_[argument];
    }
  }

  bool is_written_by_sum(OperandId operand) const {
    const std::vector<Store>& stores = kernel_.stages[sum_].stores;
    return std::any_of(stores.begin(), stores.end(), [&](const Store& store) {
      return kernel_.accesses[store.access].operand == operand;
    });
  }

  /// Whether the stage of the sum stores there what a later map replaces by NaN
  /// (host/loop_order/reuse_stored.cpp).
  bool is_overwritten(StageId s, const Store& store) const {
    if (s != sum_ || store.accumulate) return false;
    for (const StageId later : kernel_.stages.ids_after(s)) {
      const Stage& stage = kernel_.stages[later];
      if (stage.kind != StageKind::Map || !stage.inner) continue;
      for (const Store& other : stage.stores) {
        if (other.access == store.access && !other.accumulate && is_nan_[other.value]) {
          return true;
        }
      }
    }
    return false;
  }

  const Kernel& kernel_;
  const StageId maximum_, sum_;
  ExpressionFlags depends_;  // on the maximum, of each expression
  ExpressionFlags is_nan_;  // where the sum is
};

/// The stage that sums exp(x - the result of `maximum`); none if there is no such stage.
StageId sum_of_shares(const Kernel& kernel, StageId maximum) {
  for (const StageId s : kernel.stages.ids_after(maximum)) {
    if (!sums_shares(kernel, kernel.stages[s])) continue;
    const Expression& exp = kernel.expressions[kernel.stages[s].value];
    const Expression& shifted = kernel.expressions[exp.arguments[0]];
    if (kernel.expressions[shifted.arguments[1]].stage == maximum) return s;
  }
  return {};
}

}  // namespace

IdVector<StageId, bool> need_not_propagate_nan(const Kernel& kernel) {
  IdVector<StageId, bool> result(kernel.stages.size());
  for (const StageId s : kernel.stages.ids()) {
    const Stage& stage = kernel.stages[s];
    if (stage.kind != StageKind::Reduce || stage.combiner != Combiner::Max) continue;
    if (!is_float(kernel.expressions[stage.value].dtype) || !stage.stores.empty()) continue;
    const StageId sum = sum_of_shares(kernel, s);
    result[s] = sum && MaximumUses(kernel, s, sum).allow_any_nan_or_zero();
  }
  return result;
}

}  // namespace kiln::codegen
