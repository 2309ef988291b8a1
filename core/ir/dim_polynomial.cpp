// Keeps polynomials in canonical form: every operation sorts terms and factors and drops zero
// coefficients, so that equality compares structures. Overflow throws (checked_size.h).
#include "core/ir/checked_size.h"
#include "core/ir/dim_algebra.h"
#include "core/types/text.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <ostream>

namespace kiln::ir {

using checked::add;
using checked::mul;

Dim DimAlgebra::of(DimExpr expr) {
  if (expr.terms.empty()) return Dim(expr.constant);
  expr.hash = std::hash<std::int64_t>()(expr.constant) + 0x9e3779b9u;
  std::uint64_t operations = 0;
  for (const DimTerm& term : expr.terms) {
    std::size_t product = std::hash<std::int64_t>()(term.coefficient) + 7;
    for (const DimAtomRef& factor : term.factors) {
      product = product * 1000003 + factor->hash;
      expr.depth = std::max(expr.depth, factor->depth);
      operations += factor->operations;
    }
    expr.hash = expr.hash * 16777619u + product;
  }
  expr.operations = saturated(operations);
  Dim dim;
  dim.expr_ = std::make_shared<const DimExpr>(std::move(expr));
  return dim;
}

Dim DimAlgebra::of(DimAtomRef atom) {
  DimExpr expr;
  expr.terms.push_back({1, {std::move(atom)}});
  return of(std::move(expr));
}

Dim DimAlgebra::of(std::int64_t constant, std::vector<DimTerm> terms) {
  const auto is_before = [](const DimTerm& a, const DimTerm& b) {
    return compare_factors(a, b) < 0;
  };
  if (!std::is_sorted(terms.begin(), terms.end(), is_before)) {
    std::sort(terms.begin(), terms.end(), is_before);
  }
  DimExpr expr;
  expr.constant = constant;
  for (DimTerm& term : terms) {
    if (!expr.terms.empty() && compare_factors(expr.terms.back(), term) == 0) {
      std::int64_t& coefficient = expr.terms.back().coefficient;
      coefficient = add(coefficient, term.coefficient);
    } else {
      expr.terms.push_back(std::move(term));
    }
  }
  std::erase_if(expr.terms, [](const DimTerm& term) { return term.coefficient == 0; });
  return of(std::move(expr));
}

Dim DimAlgebra::linear(const Dim& a, const Dim& b, std::int64_t scale) {
  if (b.is_static() && b.value() == 0) return a;
  const std::vector<DimTerm> none;
  const std::vector<DimTerm>& left = a.is_static() ? none : a.expr()->terms;
  const std::vector<DimTerm>& right = b.is_static() ? none : b.expr()->terms;
  DimExpr sum;
  sum.constant = add(constant_of(a), mul(constant_of(b), scale));
  sum.terms.reserve(left.size() + right.size());
  auto x = left.begin(), y = right.begin();
  while (x != left.end() || y != right.end()) {
    const int order = x == left.end() ? 1 : y == right.end() ? -1 : compare_factors(*x, *y);
    std::int64_t coefficient = 0;
    if (order <= 0) coefficient = x->coefficient;
    if (order >= 0) coefficient = add(coefficient, mul(y->coefficient, scale));
    if (coefficient != 0) sum.terms.push_back({coefficient, order <= 0 ? x->factors : y->factors});
    if (order <= 0) ++x;
    if (order >= 0) ++y;
  }
  return of(std::move(sum));
}

namespace {

Dim limited(Dim dim) {
  if (!dim.is_static() && dim.expr()->terms.size() > kMaxDimTerms) reject_terms();
  return dim;
}

/// The terms, and the constant as a term without factors.
std::vector<DimTerm> all_terms(const Dim& dim) {
  std::vector<DimTerm> terms;
  if (!dim.is_static()) terms = dim.expr()->terms;
  if (constant_of(dim) != 0) terms.push_back({constant_of(dim), {}});
  return terms;
}

DimTerm product(const DimTerm& x, const DimTerm& y) {
  DimTerm term{mul(x.coefficient, y.coefficient), x.factors};
  term.factors.insert(term.factors.end(), y.factors.begin(), y.factors.end());
  if (term.factors.size() > kMaxDimFactors) {
    checked::reject(text("a dimension is a product of more than ", kMaxDimFactors, " sizes"));
  }
  std::sort(term.factors.begin(), term.factors.end(),
            [](const DimAtomRef& p, const DimAtomRef& q) { return compare_atoms(*p, *q) < 0; });
  return term;
}

}  // namespace

void reject_terms() {
  checked::reject(text("a dimension is a sum of more than ", kMaxDimTerms, " terms"));
}

std::uint32_t saturated(std::uint64_t count) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(count, std::numeric_limits<std::uint32_t>::max()));
}

Dim Dim::fresh(std::string name) {
  static std::atomic<std::int64_t> next{1};
  return of(Symbol{next.fetch_add(1, std::memory_order_relaxed), std::move(name)});
}

Dim Dim::of(const Symbol& symbol) {
  return DimAlgebra::of(std::make_shared<const DimAtom>(symbol));
}

std::optional<Symbol> Dim::as_symbol() const {
  const DimAtom* atom = single_atom(*this);
  const Symbol* symbol = atom ? atom->symbol() : nullptr;
  return symbol == nullptr ? std::nullopt : std::optional(*symbol);
}

std::size_t Dim::hash() const {
  return is_static() ? std::hash<std::int64_t>()(value_) : expr_->hash;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_static() && b.is_static()) return add(a.value(), b.value());
  return limited(DimAlgebra::linear(a, b, 1));
}

Dim operator-(const Dim& a) { return Dim(0) - a; }
Dim operator-(const Dim& a, const Dim& b) {
  // -INT64_MIN does not fit in 64 bits, but the difference may.
  if (a.is_static() && b.is_static()) return checked::subtract(a.value(), b.value());
  return limited(DimAlgebra::linear(a, b, -1));
}

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_static() && b.is_static()) return mul(a.value(), b.value());
  if (a.is_static()) return DimAlgebra::linear(Dim(0), b, a.value());
  if (b.is_static()) return DimAlgebra::linear(Dim(0), a, b.value());
  const std::vector<DimTerm> left = all_terms(a), right = all_terms(b);
  if (left.size() * right.size() > kMaxDimTerms) reject_terms();
  std::vector<DimTerm> terms;
  std::int64_t constant = 0;
  for (const DimTerm& x : left) {
    for (const DimTerm& y : right) {
      DimTerm term = product(x, y);
      if (term.factors.empty()) {
        constant = add(constant, term.coefficient);
      } else {
        terms.push_back(std::move(term));
      }
    }
  }
  return DimAlgebra::of(constant, std::move(terms));
}

Dim total(std::span<const Dim> dims) {
  std::int64_t constant = 0;
  std::vector<DimTerm> terms;
  for (const Dim& dim : dims) {
    constant = add(constant, constant_of(dim));
    if (dim.is_static()) continue;
    terms.insert(terms.end(), dim.expr()->terms.begin(), dim.expr()->terms.end());
  }
  return limited(DimAlgebra::of(constant, std::move(terms)));
}

Dim product(const Dims& dims) {
  // 0 whatever the other dims, whose product may overflow.
  if (std::find(dims.begin(), dims.end(), Dim(0)) != dims.end()) return 0;
  Dim result = 1;
  for (const Dim& dim : dims) result = result * dim;
  return result;
}

std::string to_string(const Dims& dims) { return text("[", join_text(dims, ","), "]"); }

std::ostream& operator<<(std::ostream& out, const Dim& dim) { return out << dim.to_string(); }

}  // namespace kiln::ir
