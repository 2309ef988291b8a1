// Finds the expressions that need no rounding, then builds the list anew, with conversions where
// float32 and a narrow dtype meet.
#include "backends/codegen/kernel/drop_roundings.h"

#include "backends/codegen/kernel/needed.h"
#include "core/ops/halves.h"
#include "core/ops/op.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::is_half;

bool is_half_apply(const Expression& e) {
  return e.kind == ExpressionKind::Apply && is_half(e.dtype);
}

class Roundings {
 public:
  explicit Roundings(Kernel& kernel)
      : kernel_(kernel),
        is_rounded_(kernel.expressions.size(), false),
        narrow_(kernel.expressions.size()),
        wide_(kernel.expressions.size()) {}

  bool drop() {
    find_rounded();
    bool changes = false;
    for (const ExpressionId e : kernel_.expressions.ids()) changes = changes || is_dropped(e);
    if (!changes) return false;
    for (const ExpressionId e : kernel_.expressions.ids()) rebuild(e);
    kernel_.expressions = std::move(rebuilt_);
    renumber();
    return true;
  }

 private:
  /// Marks the expressions that something reads other than arithmetic and sums.
  void find_rounded() {
    const ExpressionFlags is_term = terms();
    for (const Stage& stage : kernel_.stages) {
      for (const Store& store : stage.stores) is_rounded_[store.value] = true;
    }
    for (const ExpressionId e : kernel_.expressions.ids()) {
      const Expression& x = kernel_.expressions[e];
      if (is_term[e] || (is_half_apply(x) && !ir::def(x.op).rounds_first)) continue;
      visit_arguments(kernel_, x, [&](ExpressionId argument) { is_rounded_[argument] = true; });
    }
  }

  /// Flags the conversions to float32 that nothing reads but additions and sums over inner axes.
  ExpressionFlags terms() const {
    ExpressionFlags is_term(kernel_.expressions.size(), false);
    for (const ExpressionId e : kernel_.expressions.ids()) {
      const Expression& x = kernel_.expressions[e];
      is_term[e] = x.kind == ExpressionKind::Convert && x.dtype == DType::Float32;
      if (x.kind == ExpressionKind::Apply && x.op == ir::Op::Add) continue;
      visit_arguments(kernel_, x, [&](ExpressionId argument) { is_term[argument] = false; });
    }
    for (const Stage& stage : kernel_.stages) {
      const bool adds = stage.kind == StageKind::Reduce && stage.combiner == Combiner::Sum;
      if (stage.value && !adds) is_term[stage.value] = false;
      for (const Store& store : stage.stores) is_term[store.value] = false;
    }
    return is_term;
  }

  bool is_dropped(ExpressionId id) const {
    return is_half_apply(kernel_.expressions[id]) && !is_rounded_[id];
  }

  /// Whether the expression is not rounded, or reads one that is not.
  bool computes_in_float32(ExpressionId id) const {
    const Expression& e = kernel_.expressions[id];
    if (!is_half_apply(e)) return false;
    return is_dropped(id) ||
           std::any_of(e.arguments.begin(), e.arguments.end(),
                       [&](auto argument) { return argument && is_dropped(argument); });
  }

  void rebuild(ExpressionId id) {
    Expression e = kernel_.expressions[id];
    const ExpressionId first = e.arguments[0];
    const bool is_widening = e.kind == ExpressionKind::Convert && e.dtype == DType::Float32 &&
                             is_half(kernel_.expressions[first].dtype);
    if (is_widening) {
      narrow_[id] = widened(first);
      return;
    }
    const bool is_wide = computes_in_float32(id);
    for (ExpressionId& argument : e.arguments) {
      if (!argument) continue;
      const bool widens = is_wide && is_half(kernel_.expressions[argument].dtype);
      argument = widens ? widened(argument) : narrow_[argument];
    }
    if (is_wide) e.dtype = DType::Float32;
    const ExpressionId added = rebuilt_.add(e);
    if (is_dropped(id)) {
      wide_[id] = added;
    } else {
      narrow_[id] = is_wide ? convert(added, kernel_.expressions[id].dtype) : added;
    }
  }

  /// The half expression in float32, rounded unless that is dropped.
  ExpressionId widened(ExpressionId id) {
    if (!wide_[id]) wide_[id] = convert(narrow_[id], DType::Float32);
    return wide_[id];
  }

  ExpressionId convert(ExpressionId from, DType dtype) {
    Expression e;
    e.kind = ExpressionKind::Convert;
    e.dtype = dtype;
    e.arguments[0] = from;
    return rebuilt_.add(e);
  }

  void renumber() {
    const auto replace = [&](ExpressionId& id) {
      if (id) id = narrow_[id];
    };
    for (Access& access : kernel_.accesses) {
      replace(access.dynamic);
      replace(access.when);
    }
    for (Stage& stage : kernel_.stages) {
      replace(stage.value);
      for (Store& store : stage.stores) replace(store.value);
    }
  }

  Kernel& kernel_;
  ExpressionFlags is_rounded_;
  IdVector<ExpressionId, Expression> rebuilt_;
  // For each expression, those of the new list: of its dtype, and of a half in float32; or none.
  IdVector<ExpressionId, ExpressionId> narrow_, wide_;
};

}  // namespace

bool drop_roundings(Kernel& kernel) { return Roundings(kernel).drop(); }

}  // namespace kiln::codegen
