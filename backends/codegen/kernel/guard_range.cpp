// Matches guards of the form that kernel_expressions.cpp builds: conjunctions of unsigned
// comparisons of an affine index with a limit.
#include "backends/codegen/kernel/guard_range.h"

#include <algorithm>
#include <optional>

namespace kiln::codegen {
namespace {

class Narrowing {
 public:
  Narrowing(const Kernel& kernel, int axis) : kernel_(kernel), axis_(axis) {
    range.last = kernel.axes[static_cast<std::size_t>(axis)].value();
  }

  IndexRange range;

  void assume(ExpressionId expression) {
    const Expression& e = at(expression);
    if (e.kind != ExpressionKind::Apply) return;
    if (e.op == ir::Op::And) {
      assume(e.arguments[0]);
      assume(e.arguments[1]);
    }
    if (e.op != ir::Op::Less) return;
    const Expression &index = at(e.arguments[0]), &limit = at(e.arguments[1]);
    if (!is_unsigned(index) || !is_unsigned(limit)) return;
    const std::optional<std::int64_t> shift = shift_of(index.arguments[0]);
    const Expression& bound = at(limit.arguments[0]);
    if (!shift || bound.kind != ExpressionKind::Constant) return;
    // 0 <= index + shift < bound
    range.first = std::max(range.first, -*shift);
    range.last = std::min(range.last, static_cast<std::int64_t>(bound.bits) - *shift);
  }

 private:
  const Expression& at(ExpressionId i) const { return kernel_.expressions[i]; }

  bool is_unsigned(const Expression& e) const {
    return e.kind == ExpressionKind::Convert && e.dtype == DType::UInt64 &&
           at(e.arguments[0]).dtype == DType::Int64;
  }

  /// s where the expression is the index along the axis + s.
  std::optional<std::int64_t> shift_of(ExpressionId expression) const {
    const Expression& e = at(expression);
    if (e.kind == ExpressionKind::AxisIndex && e.number == axis_) return 0;
    if (e.kind != ExpressionKind::Apply || e.op != ir::Op::Add) return std::nullopt;
    const Expression &index = at(e.arguments[0]), &shift = at(e.arguments[1]);
    const bool fits = index.kind == ExpressionKind::AxisIndex && index.number == axis_ &&
                      shift.kind == ExpressionKind::Constant;
    return fits ? std::optional(static_cast<std::int64_t>(shift.bits)) : std::nullopt;
  }

  const Kernel& kernel_;
  int axis_;
};

}  // namespace

IndexRange touched_range(const Kernel& kernel, const Access& access, int axis) {
  Narrowing narrowing(kernel, axis);
  if (access.when) narrowing.assume(access.when);
  narrowing.range.last = std::max(narrowing.range.first, narrowing.range.last);
  return narrowing.range;
}

}  // namespace kiln::codegen
