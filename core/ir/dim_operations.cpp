// Floor divisions, remainders, maxima and minima of dims: folded where the result is known, merged
// where they nest, else a factor of their own.
#include "core/ir/checked_size.h"
#include "core/ir/dim_algebra.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>

namespace kiln::ir {
namespace {

using checked::add;
using checked::mul;

/// The number of maxima and minima of one sum, and of steps, that simplifications try.
constexpr std::size_t kMaxTried = 16;

bool is_known_nonnegative(const DimOperation& operation) {
  const auto left = lower_bound(operation.left), right = lower_bound(operation.right);
  const bool left_ok = left && *left >= 0, right_ok = right && *right >= 0;
  if (operation.op == DimOp::Max) return left_ok || right_ok;
  if (operation.op == DimOp::Mod) return right_ok;
  return left_ok && right_ok;
}

std::uint32_t depth_of(const Dim& dim) { return dim.is_static() ? 0 : dim.expr()->depth; }
std::uint64_t operations_in(const Dim& dim) { return dim.is_static() ? 0 : dim.expr()->operations; }

/// a / b if b is a single term that divides every term of a; else nothing.
std::optional<Dim> exact_quotient(const Dim& a, const Dim& b) {
  if (a == b) return Dim(1);
  if (!b.is_static() && (b.expr()->constant != 0 || b.expr()->terms.size() != 1)) {
    return std::nullopt;
  }
  DimTerm by = b.is_static() ? DimTerm{b.value(), {}} : b.expr()->terms[0];
  // Only division by -1 can overflow; negation checks for that.
  const bool negate = by.coefficient == -1;
  if (negate) by.coefficient = 1;
  const Dim of = negate ? -a : a;
  std::int64_t constant = constant_of(of);
  if (!by.factors.empty() && constant != 0) return std::nullopt;
  if (constant % by.coefficient != 0) return std::nullopt;
  constant /= by.coefficient;
  if (of.is_static()) return Dim(constant);
  std::vector<DimTerm> terms;
  for (DimTerm term : of.expr()->terms) {
    if (term.coefficient % by.coefficient != 0) return std::nullopt;
    term.coefficient /= by.coefficient;
    for (const DimAtomRef& factor : by.factors) {
      const auto same = [&](const DimAtomRef& other) {
        return compare_atoms(*factor, *other) == 0;
      };
      const auto found = std::find_if(term.factors.begin(), term.factors.end(), same);
      if (found == term.factors.end()) return std::nullopt;
      term.factors.erase(found);
    }
    if (term.factors.empty()) {
      constant = add(constant, term.coefficient);
    } else {
      terms.push_back(std::move(term));
    }
  }
  return DimAlgebra::of(constant, std::move(terms));
}

Dim of_operation(DimOp op, const Dim& left, const Dim& right) {
  if (std::max(depth_of(left), depth_of(right)) >= kMaxDimDepth) {
    checked::reject(text("a dimension nests more than ", kMaxDimDepth,
                         " divisions, remainders, maxima and minima"));
  }
  return DimAlgebra::of(std::make_shared<const DimAtom>(DimOperation{op, left, right}));
}

/// Whether op(a, b) is known to be b.
bool is_dominated(DimOp op, const Dim& a, const Dim& b) {
  return (op == DimOp::Max ? less_equal(a, b) : less_equal(b, a)) == Ternary::Yes;
}

/// The result of `simplify`, or nothing if it overflows: the dim itself may not.
template <class Simplify>
std::optional<Dim> unless_overflow(const Simplify& simplify) {
  try {
    return simplify();
  } catch (const ValueError&) {
    return std::nullopt;
  }
}

std::size_t term_count(const Dim& dim) { return dim.is_static() ? 0 : dim.expr()->terms.size(); }

/// `a` without an operand of one of its extrema that cannot decide op(a, b), or nothing:
/// max(max(n - 1, 0) - 1, 0) is max(n - 2, 0), since 0 - 1 <= 0. The result is not longer.
std::optional<Dim> without_dominated(DimOp op, const Dim& a, const Dim& b) {
  if (a.is_static()) return std::nullopt;
  const std::vector<DimTerm>& terms = a.expr()->terms;
  for (std::size_t i = 0, tried = 0; i < terms.size() && tried < kMaxTried; ++i) {
    const DimOperation* of = extremum_of(terms[i]);
    if (!of) continue;
    ++tried;
    if ((terms[i].coefficient > 0) != (of->op == op)) continue;
    const Dim left = with_operand(a, i, of->left), right = with_operand(a, i, of->right);
    if (term_count(right) <= terms.size() && is_dominated(op, left, b)) return right;
    if (term_count(left) <= terms.size() && is_dominated(op, right, b)) return left;
  }
  return std::nullopt;
}

Dim extremum(DimOp op, Dim a, Dim b) {
  for (std::size_t step = 0; step < kMaxTried; ++step) {
    if (a.is_static() && b.is_static()) return evaluate(op, a.value(), b.value());
    if (is_dominated(op, a, b)) return b;
    if (is_dominated(op, b, a)) return a;
    auto simpler = unless_overflow([&] { return without_dominated(op, a, b); });
    if (!simpler) {
      std::swap(a, b);
      simpler = unless_overflow([&] { return without_dominated(op, a, b); });
    }
    if (!simpler) break;
    a = std::move(*simpler);
  }
  if (b.compare(a) < 0) std::swap(a, b);
  return of_operation(op, a, b);
}

/// Divisors up to which divisions are merged, and numbers that are added to the dividend: the
/// merged division overflows where the nested ones do not only for dividends within this of 2^63.
constexpr std::int64_t kMaxMerged = std::int64_t{1} << 31;

/// floordiv(floordiv(a, b) + k, c) as floordiv(a + k * b, b * c), for integers b, c > 0 and k.
std::optional<Dim> merged_division(const Dim& a, const Dim& by) {
  if (a.is_static() || !by.is_static() || by.value() < 1 || by.value() > kMaxMerged) {
    return std::nullopt;
  }
  const std::int64_t constant = a.expr()->constant;
  const DimAtom* atom = single_atom(DimAlgebra::linear(a, Dim(constant), -1));
  const DimOperation* inner = atom ? atom->operation() : nullptr;
  if (!inner || inner->op != DimOp::FloorDiv || !inner->right.is_static()) return std::nullopt;
  const std::int64_t divisor = inner->right.value();
  if (divisor < 1 || divisor > kMaxMerged / by.value()) return std::nullopt;
  const std::int64_t largest = kMaxMerged / divisor;
  if (constant > largest || constant < -largest) return std::nullopt;
  return floor_div(inner->left + Dim(mul(constant, divisor)), Dim(mul(divisor, by.value())));
}

void require_divisor(const Dim& b) {
  if (b.is_static() && b.value() == 0) checked::reject("a dimension is divided by zero");
}

/// A maximum or minimum: base + sign * max(left - right, 0), where the gap may have the other sign.
struct Extremum {
  explicit Extremum(const DimTerm& term)
      : of(extremum_of(term)),
        gap(DimAlgebra::linear(of->left, of->right, -1)),
        weight(of->op == DimOp::Max ? term.coefficient : mul(term.coefficient, -1)) {}

  /// The base for the gap of `other`, if the two differ in sign at most.
  std::optional<Dim> base_for(const Extremum& other) const {
    const bool is_max = of->op == DimOp::Max;
    if (gap == other.gap) return is_max ? of->right : of->left;
    if (gap == -other.gap) return is_max ? of->left : of->right;
    return std::nullopt;
  }

  const DimOperation* of;
  Dim gap;
  std::int64_t weight;  // of max(gap, 0) in the sum
};

/// Without two extrema that cancel, or nothing: min(1, n) + max(n - 1, 0) is n.
std::optional<Dim> without_pair(const Dim& dim) {
  const std::vector<DimTerm>& terms = dim.expr()->terms;
  std::vector<std::pair<std::size_t, Extremum>> found;
  for (std::size_t i = 0; i < terms.size() && found.size() < kMaxTried; ++i) {
    if (!extremum_of(terms[i])) continue;
    const Extremum last(terms[i]);
    for (const auto& [index, first] : found) {
      const auto base = last.base_for(first);
      if (!base || add(first.weight, last.weight) != 0) continue;
      const Dim rest = with_operand(dim, i, *base);  // the terms before i may be others now
      const Dim other = *first.base_for(first);
      const Dim atom = DimAlgebra::of(terms[index].factors[0]);
      return DimAlgebra::linear(rest, other - atom, terms[index].coefficient);
    }
    found.emplace_back(i, last);
  }
  return std::nullopt;
}

/// The sum as one extremum, or nothing: n - min(1, n) is max(n - 1, 0).
std::optional<Dim> as_extremum(const Dim& dim) {
  const std::vector<DimTerm>& terms = dim.expr()->terms;
  if (single_atom(dim)) return std::nullopt;
  for (std::size_t i = 0, tried = 0; i < terms.size() && tried < kMaxTried; ++i) {
    const DimOperation* of = extremum_of(terms[i]);
    if (!of) continue;
    ++tried;
    if (terms.size() == 1) continue;  // with a constant only: nothing cancels
    const Dim left = with_operand(dim, i, of->left), right = with_operand(dim, i, of->right);
    if (!left.is_static() && !right.is_static()) continue;
    const bool is_max = (terms[i].coefficient > 0) == (of->op == DimOp::Max);
    return extremum(is_max ? DimOp::Max : DimOp::Min, left, right);
  }
  return std::nullopt;
}

}  // namespace

DimAtom::DimAtom(const Symbol& symbol) : form(symbol), hash(std::hash<std::int64_t>()(symbol.id)) {}

DimAtom::DimAtom(DimOperation operation)
    : hash(operation.left.hash() * 31 + operation.right.hash() * 17 +
           static_cast<std::size_t>(operation.op)),
      is_nonnegative(is_known_nonnegative(operation)),
      depth(std::max(depth_of(operation.left), depth_of(operation.right)) + 1),
      operations(saturated(operations_in(operation.left) + operations_in(operation.right) + 1)) {
  form = std::move(operation);
}

DimAtom::~DimAtom() {
  DimOperation* operation = std::get_if<DimOperation>(&form);
  if (!operation || depth == 1) return;
  // The worklist is linked through the polynomials themselves: a destructor must not allocate.
  thread_local std::shared_ptr<const DimExpr>* t_pending = nullptr;
  std::shared_ptr<const DimExpr> own;
  const bool is_outermost = t_pending == nullptr;
  if (is_outermost) t_pending = &own;
  for (Dim* operand : {&operation->left, &operation->right}) {
    std::shared_ptr<const DimExpr> expr = DimAlgebra::release(*operand);
    // Unshared, so that no other thread can reach it.
    if (!expr || expr.use_count() != 1) continue;
    expr->next_released = std::move(*t_pending);
    *t_pending = std::move(expr);
  }
  if (!is_outermost) return;
  while (own) {
    const std::shared_ptr<const DimExpr> next = std::move(own);
    own = std::move(next->next_released);
  }
  t_pending = nullptr;
}

Dim floor_div(const Dim& a, const Dim& b) {
  require_divisor(b);
  if (auto quotient = exact_quotient(a, b)) return *quotient;
  if (a.is_static() && b.is_static()) return evaluate(DimOp::FloorDiv, a.value(), b.value());
  if (auto merged = merged_division(a, b)) return *merged;
  return of_operation(DimOp::FloorDiv, a, b);
}

Dim ceil_div(const Dim& a, const Dim& b) { return floor_div(a + b - 1, b); }

Dim mod(const Dim& a, const Dim& b) {
  require_divisor(b);
  if (exact_quotient(a, b)) return 0;
  if (a.is_static() && b.is_static()) return evaluate(DimOp::Mod, a.value(), b.value());
  return of_operation(DimOp::Mod, a, b);
}

Dim max(const Dim& a, const Dim& b) { return extremum(DimOp::Max, a, b); }
Dim min(const Dim& a, const Dim& b) { return extremum(DimOp::Min, a, b); }

Dim simplified(const Dim& dim) {
  Dim result = dim;
  for (std::size_t step = 0; step < kMaxTried && !result.is_static(); ++step) {
    if (result.expr()->depth == 0) break;
    const auto simpler = unless_overflow([&] {
      auto shorter = without_pair(result);
      return shorter ? shorter : as_extremum(result);
    });
    if (!simpler) break;
    result = *simpler;
  }
  return result;
}

}  // namespace kiln::ir
