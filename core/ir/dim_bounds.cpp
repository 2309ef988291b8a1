// Decides comparisons of dims by the signs of coefficients. Where those do not suffice, maxima and
// minima are replaced by their operands: n - min(1, n) >= 0, since n - n >= 0.
#include "core/ir/dim_algebra.h"

#include <kiln/error.h>

#include <algorithm>

namespace kiln::ir {

std::optional<std::int64_t> lower_bound(const Dim& dim) {
  if (dim.is_static()) return dim.value();
  for (const DimTerm& term : dim.expr()->terms) {
    if (term.coefficient < 0) return std::nullopt;
    for (const DimAtomRef& factor : term.factors) {
      if (!factor->is_nonnegative) return std::nullopt;
    }
  }
  return dim.expr()->constant;
}

Dim with_operand(const Dim& dim, std::size_t index, const Dim& operand) {
  DimExpr rest;
  rest.constant = dim.expr()->constant;
  rest.terms = dim.expr()->terms;
  const std::int64_t coefficient = rest.terms[index].coefficient;
  rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(index));
  return DimAlgebra::linear(DimAlgebra::of(std::move(rest)), operand, coefficient);
}

namespace {

/// The number of replacements that one comparison tries.
constexpr int kMaxReplacements = 16;

/// Whether `dim` is known to be at least `bound`.
bool at_least(const Dim& dim, std::int64_t bound, int& replacements) {
  if (const auto low = lower_bound(dim); low && *low >= bound) return true;
  if (dim.is_static()) return false;
  const std::vector<DimTerm>& terms = dim.expr()->terms;
  // c * min(a, b) + rest is the smaller of c * a + rest and c * b + rest for c > 0, the larger one
  // for c < 0; the reverse holds for a maximum.
  const auto is_smaller = [](const DimTerm& term, const DimOperation& of) {
    return (term.coefficient > 0) == (of.op == DimOp::Min);
  };
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const DimOperation* of = extremum_of(terms[i]);
    if (!of || !is_smaller(terms[i], *of)) continue;
    if (--replacements < 0) return false;
    return at_least(with_operand(dim, i, of->left), bound, replacements) &&
           at_least(with_operand(dim, i, of->right), bound, replacements);
  }
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const DimOperation* of = extremum_of(terms[i]);
    if (!of) continue;
    for (const Dim* operand : {&of->left, &of->right}) {
      if (--replacements < 0) return false;
      if (at_least(with_operand(dim, i, *operand), bound, replacements)) return true;
    }
  }
  return false;
}

/// Whether a + bound <= b is known. An overflow proves nothing.
bool is_below(const Dim& a, const Dim& b, std::int64_t bound) {
  try {
    int replacements = kMaxReplacements;
    return at_least(DimAlgebra::linear(b, a, -1), bound, replacements);
  } catch (const ValueError&) {
    return false;
  }
}

}  // namespace

Ternary less_equal(const Dim& a, const Dim& b) {
  if (a.is_static() && b.is_static()) return a.value() <= b.value() ? Ternary::Yes : Ternary::No;
  if (is_below(a, b, 0)) return Ternary::Yes;
  return is_below(b, a, 1) ? Ternary::No : Ternary::Unknown;
}

Ternary equal(const Dim& a, const Dim& b) {
  if (a == b) return Ternary::Yes;
  if (a.is_static() && b.is_static()) return Ternary::No;
  return is_below(a, b, 1) || is_below(b, a, 1) ? Ternary::No : Ternary::Unknown;
}

bool same_value(const Dim& a, const Dim& b) {
  return a == b || (is_below(a, b, 0) && is_below(b, a, 0));
}

}  // namespace kiln::ir
