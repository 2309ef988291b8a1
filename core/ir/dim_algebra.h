// DimAlgebra: the parts of the arithmetic of dims that the sources of dim.h share.
#pragma once

#include "core/ir/dim.h"

namespace kiln::ir {

/// Makes dims of polynomials. Does not enforce kMaxDimTerms: comparisons need differences of dims
/// of that length.
struct DimAlgebra {
  static Dim of(DimExpr canonical);
  static Dim of(DimAtomRef atom);
  /// Sorts and merges the terms.
  static Dim of(std::int64_t constant, std::vector<DimTerm> terms);
  /// a + scale * b.
  static Dim linear(const Dim& a, const Dim& b, std::int64_t scale);
  /// Takes the polynomial out of a dim; null when static.
  static std::shared_ptr<const DimExpr> release(Dim& dim) { return std::move(dim.expr_); }
};

inline std::int64_t constant_of(const Dim& dim) {
  return dim.is_static() ? dim.value() : dim.expr()->constant;
}

/// The factor, if the dim is just a symbol or an operation; else null.
inline const DimAtom* single_atom(const Dim& dim) {
  if (dim.is_static() || dim.expr()->constant != 0 || dim.expr()->terms.size() != 1) return nullptr;
  const DimTerm& term = dim.expr()->terms[0];
  return term.coefficient == 1 && term.factors.size() == 1 ? term.factors[0].get() : nullptr;
}

/// The maximum or minimum, if the term is just that with a coefficient; else null.
inline const DimOperation* extremum_of(const DimTerm& term) {
  const DimOperation* op = term.factors.size() == 1 ? term.factors[0]->operation() : nullptr;
  return op && (op->op == DimOp::Max || op->op == DimOp::Min) ? op : nullptr;
}

/// `dim` with the extremum of its term `index` replaced by `operand`.
Dim with_operand(const Dim& dim, std::size_t index, const Dim& operand);

/// A total order of factors, and of products of factors; symbols come before operations.
int compare_atoms(const DimAtom& a, const DimAtom& b);
int compare_factors(const DimTerm& a, const DimTerm& b);

/// The constant of the polynomial if all its terms are known not to be negative; else nothing.
std::optional<std::int64_t> lower_bound(const Dim& dim);

/// Throws ValueError for a sum of more than kMaxDimTerms terms.
[[noreturn]] void reject_terms();
/// At most UINT32_MAX.
std::uint32_t saturated(std::uint64_t count);

}  // namespace kiln::ir
