// Derives signs in one walk over the expressions, arguments first. Arithmetic propagates NaN, so
// each rule below is about the other values; rounding keeps signs.
#include "backends/codegen/kernel/signs.h"

#include "core/ops/convert.h"

namespace kiln::codegen {
namespace {

using ir::Op;

/// Maximum depth of nested maxima to search.
constexpr int kMaxDepth = 4;

struct Signs {
  bool never_positive = false, never_negative = false;
};

double value_of(const Expression& constant) {
  double value = 0;
  ir::load_floating(constant.dtype, reinterpret_cast<const std::byte*>(&constant.bits), &value, 1);
  return value;
}

bool is_apply(const Expression& e, Op op) { return e.kind == ExpressionKind::Apply && e.op == op; }

bool is_zero(const Kernel& kernel, ExpressionId expression) {
  const Expression& e = kernel.expressions[expression];
  return e.kind == ExpressionKind::Constant && is_float(e.dtype) && value_of(e) == 0;
}

/// Whether at every point `bound` is at least `x`, or one of them is NaN.
bool bounds(const Kernel& kernel, ExpressionId bound, ExpressionId x, int depth) {
  if (bound == x) return true;
  if (depth == 0) return false;
  const Expression& e = kernel.expressions[bound];
  if (e.kind == ExpressionKind::StageResult) {
    const Stage& stage = kernel.stages[e.stage];
    return stage.combiner == Combiner::Max && bounds(kernel, stage.value, x, depth - 1);
  }
  if (!is_apply(e, Op::Maximum)) return false;
  return bounds(kernel, e.arguments[0], x, depth - 1) ||
         bounds(kernel, e.arguments[1], x, depth - 1);
}

/// select(x <= 0, x, -x)
bool is_minus_magnitude(const Kernel& kernel, const Expression& e) {
  if (!is_apply(e, Op::Select)) return false;
  const auto [condition, x, negated] = e.arguments;
  const Expression& comparison = kernel.expressions[condition];
  const Expression& other = kernel.expressions[negated];
  return is_apply(comparison, Op::LessEqual) && comparison.arguments[0] == x &&
         is_zero(kernel, comparison.arguments[1]) && is_apply(other, Op::Neg) &&
         other.arguments[0] == x;
}

Signs signs_of_product(const Expression& e, Signs x, Signs y) {
  if (e.arguments[0] == e.arguments[1]) return {.never_negative = true};
  return {.never_positive =
              (x.never_positive && y.never_negative) || (x.never_negative && y.never_positive),
          .never_negative =
              (x.never_positive && y.never_positive) || (x.never_negative && y.never_negative)};
}

/// `known`: of the expressions before it.
Signs signs_of(const Kernel& kernel, const Expression& e,
               const IdVector<ExpressionId, Signs>& known) {
  if (!is_float(e.dtype)) return {};
  if (e.kind == ExpressionKind::Constant) {
    const double value = value_of(e);
    return {.never_positive = value <= 0, .never_negative = value >= 0};
  }
  if (e.kind != ExpressionKind::Apply) return {};
  if (is_minus_magnitude(kernel, e)) return {.never_positive = true};
  const auto argument = [&](std::size_t i) { return known[e.arguments[i]]; };
  if (e.op == Op::Abs) return {.never_negative = true};
  if (e.op == Op::Neg) return {argument(0).never_negative, argument(0).never_positive};
  if (e.op == Op::Mul) return signs_of_product(e, argument(0), argument(1));
  if (e.op != Op::Sub) return {};
  return {.never_positive = bounds(kernel, e.arguments[1], e.arguments[0], kMaxDepth),
          .never_negative = bounds(kernel, e.arguments[0], e.arguments[1], kMaxDepth)};
}

}  // namespace

ExpressionFlags never_positive(const Kernel& kernel) {
  IdVector<ExpressionId, Signs> known;
  ExpressionFlags result;
  for (const Expression& e : kernel.expressions) {
    known.push_back(signs_of(kernel, e, known));
    result.push_back(known.back().never_positive);
  }
  return result;
}

bool sums_shares(const Kernel& kernel, const Stage& stage) {
  if (stage.kind != StageKind::Reduce || stage.combiner != Combiner::Sum) return false;
  const Expression& exp = kernel.expressions[stage.value];
  if (!is_apply(exp, Op::Exp) || !is_float(exp.dtype)) return false;
  const Expression& shifted = kernel.expressions[exp.arguments[0]];
  if (!is_apply(shifted, Op::Sub)) return false;
  const Expression& shift = kernel.expressions[shifted.arguments[1]];
  if (shift.kind != ExpressionKind::StageResult) return false;
  const Stage& maximum = kernel.stages[shift.stage];
  return maximum.kind == StageKind::Reduce && maximum.combiner == Combiner::Max &&
         maximum.value == shifted.arguments[0];
}

}  // namespace kiln::codegen
