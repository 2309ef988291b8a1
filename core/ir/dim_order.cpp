// Compares dims. Equal operations are skipped by their address, so that a comparison descends into
// the first operands that differ; equal ones with two addresses are compared once.
#include "core/ir/dim_algebra.h"

#include <algorithm>
#include <unordered_set>

namespace kiln::ir {
namespace {

template <class Number>
int compare_numbers(Number a, Number b) {
  return a == b ? 0 : a < b ? -1 : 1;
}

int compare(const Symbol& a, const Symbol& b) {
  if (a.id == b.id) return 0;
  if (int order = a.name.compare(b.name); order != 0) return order;
  return a.id < b.id ? -1 : 1;
}

/// Compares all parts of two polynomials but the operands of their operations, which are pending:
/// a lexicographic order, by the polynomial and then by the operands from left to right.
class Comparison {
 public:
  int dims(const Dim& a, const Dim& b) { return finish(begin(a, b)); }
  int atoms(const DimAtom& a, const DimAtom& b) { return finish(begin(a, b)); }
  int factors(const DimTerm& a, const DimTerm& b) { return finish(begin_factors(a, b)); }

 private:
  using Pair = std::pair<const DimExpr*, const DimExpr*>;
  struct PairHash {
    std::size_t operator()(const Pair& pair) const {
      const std::hash<const void*> hash;
      return hash(pair.first) * 31 + hash(pair.second);
    }
  };

  int begin(const Dim& a, const Dim& b) {
    if (a.is_static() || b.is_static()) {
      if (a.is_static() != b.is_static()) return a.is_static() ? -1 : 1;
      return compare_numbers(a.value(), b.value());
    }
    if (a.expr() != b.expr()) pending_.emplace_back(a.expr(), b.expr());
    return 0;
  }

  int begin(const DimAtom& a, const DimAtom& b) {
    if (&a == &b) return 0;
    if (a.form.index() != b.form.index()) return compare_numbers(a.form.index(), b.form.index());
    if (a.symbol()) return compare(*a.symbol(), *b.symbol());
    if (a.depth != b.depth) return compare_numbers(a.depth, b.depth);
    const DimOperation &left = *a.operation(), &right = *b.operation();
    if (left.op != right.op) return compare_numbers(left.op, right.op);
    if (int order = begin(left.left, right.left); order != 0) return order;
    return begin(left.right, right.right);
  }

  int begin_factors(const DimTerm& a, const DimTerm& b) {
    const std::size_t shared = std::min(a.factors.size(), b.factors.size());
    for (std::size_t i = 0; i < shared; ++i) {
      if (int order = begin(*a.factors[i], *b.factors[i]); order != 0) return order;
    }
    return compare_numbers(a.factors.size(), b.factors.size());
  }

  int begin(const DimExpr& a, const DimExpr& b) {
    if (int order = compare_numbers(a.terms.size(), b.terms.size()); order != 0) return order;
    for (std::size_t i = 0; i < a.terms.size(); ++i) {
      if (int order = begin_factors(a.terms[i], b.terms[i]); order != 0) return order;
      const std::int64_t left = a.terms[i].coefficient, right = b.terms[i].coefficient;
      if (left != right) return compare_numbers(left, right);
    }
    return compare_numbers(a.constant, b.constant);
  }

  int finish(int order) {
    std::reverse(pending_.begin(), pending_.end());
    while (order == 0 && !pending_.empty()) {
      const Pair next = pending_.back();
      pending_.pop_back();
      const bool nested = next.first->depth != 0 && next.first->hash == next.second->hash;
      if (nested && !compared_.insert(next).second) continue;
      const auto before = static_cast<std::ptrdiff_t>(pending_.size());
      order = begin(*next.first, *next.second);
      std::reverse(pending_.begin() + before, pending_.end());
    }
    return order;
  }

  std::vector<Pair> pending_;                    // the last comes first
  std::unordered_set<Pair, PairHash> compared_;  // found equal, or descended into
};

}  // namespace

int compare_atoms(const DimAtom& a, const DimAtom& b) { return Comparison().atoms(a, b); }
int compare_factors(const DimTerm& a, const DimTerm& b) { return Comparison().factors(a, b); }

int Dim::compare(const Dim& other) const { return Comparison().dims(*this, other); }

Ternary equal(const Dims& a, const Dims& b) {
  if (a.size() != b.size()) return Ternary::No;
  Ternary all = Ternary::Yes;
  for (std::size_t i = 0; i < a.size() && all != Ternary::No; ++i) {
    const Ternary one = equal(a[i], b[i]);
    if (one != Ternary::Yes) all = one;
  }
  return all;
}

}  // namespace kiln::ir
