// NaN: finds which expressions depend on a maximum m, and which are NaN where the sum of exp(x - m)
// is. Zeros: if the maximum of a row is 0 and the row has zeros of both signs, m may be either, and
// so may zeros of x - m. exp(x - m) is 1 for both; the sum is then at least 2, so x - m - log(sum)
// is not 0. Any other use of m or of x - m is rejected.
#include "backends/codegen/kernel/unpropagated_nan.h"

#include "backends/codegen/kernel/signs.h"
#include "core/types/at.h"

#include <algorithm>
#include <optional>

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
  MaximumUses(const Kernel& kernel, std::size_t maximum, std::size_t sum)
      : kernel_(kernel), maximum_(maximum), sum_(sum) {
    depends_.resize(kernel.expressions.size());
    is_nan_.resize(kernel.expressions.size());
    for (std::size_t e = 0; e < kernel.expressions.size(); ++e) mark(e);
  }

  /// Whether every use is NaN where the sum is, and has the same bits for both zeros.
  bool allow_any_nan_or_zero() const {
    for (std::size_t e = 0; e < kernel_.expressions.size(); ++e) {
      if (!allows_any_zero(kernel_.expressions[e])) return false;
    }
    for (const Access& access : kernel_.accesses) {
      if (depends(access.dynamic) || depends(access.when)) return false;
    }
    for (std::size_t s = 0; s < kernel_.stages.size(); ++s) {
      const Stage& stage = kernel_.stages[s];
      if (s != sum_ && depends(stage.value)) return false;
      for (const Store& store : stage.stores) {
        if (is_difference(store.value) || is_result(store.value, maximum_)) return false;
        if (!depends(store.value) || is_nan_[at(store.value)]) continue;
        if (!is_overwritten(s, store)) return false;
      }
    }
    return true;
  }

 private:
  bool depends(int expression) const { return expression >= 0 && depends_[at(expression)]; }

  bool is_result(int expression, std::size_t stage) const {
    const Expression& x = kernel_.expressions[at(expression)];
    return x.kind == ExpressionKind::StageResult && at(x.number) == stage;
  }

  /// Whether it is x - maximum, for the x of the maximum. (Where NaN is ignored, another operand
  /// may exceed the maximum, though never_positive() of signs.h may say that it does not.)
  bool is_difference(const Expression& e) const {
    return e.kind == ExpressionKind::Apply && e.op == Op::Sub &&
           e.arguments[0] == kernel_.stages[maximum_].value && is_result(e.arguments[1], maximum_);
  }
  bool is_difference(int expression) const {
    return is_difference(kernel_.expressions[at(expression)]);
  }

  bool is_log_of_sum(int expression) const {
    const Expression& x = kernel_.expressions[at(expression)];
    return x.kind == ExpressionKind::Apply && x.op == Op::Log && is_result(x.arguments[0], sum_);
  }

  /// Whether `user` uses the maximum, if at all, as x - maximum, and x - maximum in exp or in
  /// x - maximum - log(sum).
  bool allows_any_zero(const Expression& user) const {
    for (std::size_t i = 0; i < user.arguments.size(); ++i) {
      const int argument = user.arguments[i];
      if (argument < 0) continue;
      if (is_result(argument, maximum_) && !is_difference(user)) return false;
      if (!is_difference(argument)) continue;
      const bool is_exp = user.kind == ExpressionKind::Apply && user.op == Op::Exp;
      const bool is_sub = user.kind == ExpressionKind::Apply && user.op == Op::Sub;
      if (!is_exp && !(is_sub && i == 0 && is_log_of_sum(user.arguments[1]))) return false;
    }
    return true;
  }

  void mark(std::size_t e) {
    const Expression& x = kernel_.expressions[e];
    if (x.kind == ExpressionKind::StageResult) {
      is_nan_[e] = at(x.number) == sum_;
      depends_[e] = is_nan_[e] || at(x.number) == maximum_;
      return;
    }
    if (x.kind == ExpressionKind::Load) {
      depends_[e] = is_written_by_sum(kernel_.accesses[at(x.number)].operand);
      return;
    }
    for (const int argument : x.arguments) {
      if (argument < 0) continue;
      depends_[e] = depends_[e] || depends_[at(argument)];
      if (x.kind != ExpressionKind::Apply || !propagates_nan(x.op)) continue;
      is_nan_[e] = is_nan_[e] || is_nan_[at(argument)];
    }
  }

  bool is_written_by_sum(int operand) const {
    const std::vector<Store>& stores = kernel_.stages[sum_].stores;
    return std::any_of(stores.begin(), stores.end(), [&](const Store& store) {
      return kernel_.accesses[at(store.access)].operand == operand;
    });
  }

  /// Whether the stage of the sum stores there what a later map replaces by NaN
  /// (host/loop_order/reuse_stored.cpp).
  bool is_overwritten(std::size_t s, const Store& store) const {
    if (s != sum_ || store.accumulate) return false;
    for (std::size_t later = s + 1; later < kernel_.stages.size(); ++later) {
      const Stage& stage = kernel_.stages[later];
      if (stage.kind != StageKind::Map || !stage.inner) continue;
      for (const Store& other : stage.stores) {
        if (other.access == store.access && !other.accumulate && is_nan_[at(other.value)]) {
          return true;
        }
      }
    }
    return false;
  }

  const Kernel& kernel_;
  const std::size_t maximum_, sum_;  // stages
  std::vector<bool> depends_;  // on the maximum, of each expression
  std::vector<bool> is_nan_;  // where the sum is
};

/// The stage that sums exp(x - the result of `maximum`); none if there is no such stage.
std::optional<std::size_t> sum_of_shares(const Kernel& kernel, std::size_t maximum) {
  for (std::size_t s = maximum + 1; s < kernel.stages.size(); ++s) {
    if (!sums_shares(kernel, kernel.stages[s])) continue;
    const Expression& exp = kernel.expressions[at(kernel.stages[s].value)];
    const Expression& shifted = kernel.expressions[at(exp.arguments[0])];
    if (at(kernel.expressions[at(shifted.arguments[1])].number) == maximum) return s;
  }
  return std::nullopt;
}

}  // namespace

std::vector<bool> need_not_propagate_nan(const Kernel& kernel) {
  std::vector<bool> result(kernel.stages.size());
  for (std::size_t s = 0; s < kernel.stages.size(); ++s) {
    const Stage& stage = kernel.stages[s];
    if (stage.kind != StageKind::Reduce || stage.combiner != Combiner::Max) continue;
    if (!is_float(kernel.expressions[at(stage.value)].dtype) || !stage.stores.empty()) continue;
    const std::optional<std::size_t> sum = sum_of_shares(kernel, s);
    result[s] = sum && MaximumUses(kernel, s, *sum).allow_any_nan_or_zero();
  }
  return result;
}

}  // namespace kiln::codegen
