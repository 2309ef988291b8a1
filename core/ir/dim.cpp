// Keeps polynomials in canonical form: every operation sorts terms and factors and drops zero
// coefficients, so that equality compares structures. Overflow throws (checked_size.h).
#include "core/ir/dim.h"

#include "core/ir/checked_size.h"
#include "core/ir/symbol_names.h"
#include "core/types/text.h"

#include <algorithm>
#include <atomic>
#include <ostream>

namespace kiln::ir {

struct DimAlgebra {
  static Dim of(DimExpr expr) {
    if (expr.terms.empty()) return Dim(expr.constant);
    Dim dim;
    dim.expr_ = std::make_shared<const DimExpr>(std::move(expr));
    return dim;
  }
};

namespace {

using checked::add;
using checked::floor_div_int;
using checked::mul;
using Atom = std::shared_ptr<const DimAtom>;

int compare(const Symbol& a, const Symbol& b) {
  if (a.id == b.id) return 0;
  if (int order = a.name.compare(b.name); order != 0) return order;
  return a.id < b.id ? -1 : 1;
}

int compare(const DimOperation& a, const DimOperation& b) {
  if (a.op != b.op) return a.op < b.op ? -1 : 1;
  if (int order = a.left.compare(b.left); order != 0) return order;
  return a.right.compare(b.right);
}

/// Symbols come before operations.
int compare_atoms(const Atom& a, const Atom& b) {
  if (a == b) return 0;
  if (a->index() != b->index()) return a->index() < b->index() ? -1 : 1;
  if (const auto* symbol = std::get_if<Symbol>(a.get())) {
    return compare(*symbol, std::get<Symbol>(*b));
  }
  return compare(std::get<DimOperation>(*a), std::get<DimOperation>(*b));
}

int compare_factors(const DimTerm& a, const DimTerm& b) {
  const std::size_t shared = std::min(a.factors.size(), b.factors.size());
  for (std::size_t i = 0; i < shared; ++i) {
    if (int order = compare_atoms(a.factors[i], b.factors[i]); order != 0) return order;
  }
  if (a.factors.size() == b.factors.size()) return 0;
  return a.factors.size() < b.factors.size() ? -1 : 1;
}

DimExpr expr_of(const Dim& dim) {
  return dim.is_static() ? DimExpr{dim.value(), {}} : *dim.expr();
}

Dim normalized(DimExpr expr) {
  std::sort(expr.terms.begin(), expr.terms.end(),
            [](const DimTerm& a, const DimTerm& b) { return compare_factors(a, b) < 0; });
  std::vector<DimTerm> merged;
  for (DimTerm& term : expr.terms) {
    if (!merged.empty() && compare_factors(merged.back(), term) == 0) {
      merged.back().coefficient = add(merged.back().coefficient, term.coefficient);
    } else {
      merged.push_back(std::move(term));
    }
  }
  std::erase_if(merged, [](const DimTerm& term) { return term.coefficient == 0; });
  return DimAlgebra::of({expr.constant, std::move(merged)});
}

Dim of_atom(DimAtom atom) {
  DimExpr expr;
  expr.terms.push_back({1, {std::make_shared<const DimAtom>(std::move(atom))}});
  return DimAlgebra::of(std::move(expr));
}

bool is_nonnegative(const Atom& atom);

/// The constant of the polynomial if all its terms are known not to be negative; else nothing.
std::optional<std::int64_t> lower_bound(const Dim& dim) {
  if (dim.is_static()) return dim.value();
  for (const DimTerm& term : dim.expr()->terms) {
    if (term.coefficient < 0) return std::nullopt;
    if (!std::all_of(term.factors.begin(), term.factors.end(), is_nonnegative)) {
      return std::nullopt;
    }
  }
  return dim.expr()->constant;
}

bool is_nonnegative(const Atom& atom) {
  const auto* operation = std::get_if<DimOperation>(atom.get());
  if (operation == nullptr) return true;
  const auto left = lower_bound(operation->left);
  const auto right = lower_bound(operation->right);
  const bool left_ok = left && *left >= 0;
  const bool right_ok = right && *right >= 0;
  if (operation->op == DimOp::Max) return left_ok || right_ok;
  if (operation->op == DimOp::Mod) return right_ok;
  return left_ok && right_ok;
}

/// a / b if b is a single term that divides every term of a; else nothing.
std::optional<Dim> exact_quotient(const Dim& a, const Dim& b) {
  if (a == b) return Dim(1);
  const DimExpr divisor = expr_of(b);
  if (divisor.terms.size() + (divisor.constant != 0 ? 1 : 0) != 1) return std::nullopt;
  DimTerm by = divisor.terms.empty() ? DimTerm{divisor.constant, {}} : divisor.terms[0];
  // Only division by -1 can overflow; negation checks for that.
  const bool negate = by.coefficient == -1;
  if (negate) by.coefficient = 1;
  DimExpr result = expr_of(negate ? -a : a);
  if (!by.factors.empty() && result.constant != 0) return std::nullopt;
  if (result.constant % by.coefficient != 0) return std::nullopt;
  result.constant /= by.coefficient;
  for (DimTerm& term : result.terms) {
    if (term.coefficient % by.coefficient != 0) return std::nullopt;
    term.coefficient /= by.coefficient;
    for (const Atom& factor : by.factors) {
      const auto same = [&](const Atom& other) { return compare_atoms(factor, other) == 0; };
      const auto found = std::find_if(term.factors.begin(), term.factors.end(), same);
      if (found == term.factors.end()) return std::nullopt;
      term.factors.erase(found);
    }
  }
  DimExpr quotient{result.constant, {}};
  for (DimTerm& term : result.terms) {
    if (term.factors.empty()) {
      quotient.constant = add(quotient.constant, term.coefficient);
    } else {
      quotient.terms.push_back(std::move(term));
    }
  }
  return normalized(std::move(quotient));
}

std::string to_text(const Atom& atom) {
  const char* const names[] = {"", "floordiv", "mod", "max", "min"};
  if (const auto* symbol = std::get_if<Symbol>(atom.get())) return SymbolNames::name_of(*symbol);
  const auto& [op, left, right] = std::get<DimOperation>(*atom);
  return text(names[static_cast<int>(op)], "(", left, ",", right, ")");
}

std::size_t hash_of(const Atom& atom) {
  if (const auto* symbol = std::get_if<Symbol>(atom.get())) {
    return std::hash<std::int64_t>()(symbol->id);
  }
  const auto& [op, left, right] = std::get<DimOperation>(*atom);
  return left.hash() * 31 + right.hash() * 17 + static_cast<std::size_t>(op);
}

/// The result of `op` if it is known without an atom: max(a, b) where a <= b, mod(a, a).
std::optional<Dim> folded(DimOp op, const Dim& a, const Dim& b) {
  if (a == b) {
    if (op == DimOp::Max || op == DimOp::Min) return a;
    if (op == DimOp::Mod) return Dim(0);
  }
  if (op == DimOp::Max || op == DimOp::Min) {
    const bool take_larger = op == DimOp::Max;
    if (less_equal(a, b) == Ternary::Yes) return take_larger ? b : a;
    if (less_equal(b, a) == Ternary::Yes) return take_larger ? a : b;
  }
  return std::nullopt;
}

Dim combine(DimOp op, const Dim& a, const Dim& b) {
  if (a.is_static() && b.is_static()) return evaluate(op, a.value(), b.value());
  if (auto dim = folded(op, a, b)) return *dim;
  const bool commutes = op == DimOp::Max || op == DimOp::Min;
  const bool swap = commutes && b.compare(a) < 0;
  return of_atom(DimOperation{.op = op, .left = swap ? b : a, .right = swap ? a : b});
}

}  // namespace

Dim Dim::fresh(std::string name) {
  static std::atomic<std::int64_t> next{1};
  return of(Symbol{next.fetch_add(1, std::memory_order_relaxed), std::move(name)});
}

Dim Dim::of(const Symbol& symbol) { return of_atom(symbol); }

std::optional<Symbol> Dim::as_symbol() const {
  if (is_static() || expr_->constant != 0 || expr_->terms.size() != 1) return std::nullopt;
  const DimTerm& term = expr_->terms[0];
  if (term.coefficient != 1 || term.factors.size() != 1) return std::nullopt;
  const auto* symbol = std::get_if<Symbol>(term.factors[0].get());
  return symbol == nullptr ? std::nullopt : std::optional(*symbol);
}

std::size_t Dim::hash() const {
  if (is_static()) return std::hash<std::int64_t>()(value_);
  std::size_t hash = std::hash<std::int64_t>()(expr_->constant) + 0x9e3779b9u;
  for (const DimTerm& term : expr_->terms) {
    std::size_t product = std::hash<std::int64_t>()(term.coefficient) + 7;
    for (const Atom& factor : term.factors) product = product * 1000003 + hash_of(factor);
    hash = hash * 16777619u + product;
  }
  return hash;
}

int Dim::compare(const Dim& other) const {
  if (is_static() || other.is_static()) {
    if (is_static() != other.is_static()) return is_static() ? -1 : 1;
    return value_ == other.value_ ? 0 : (value_ < other.value_ ? -1 : 1);
  }
  if (expr_ == other.expr_) return 0;
  const auto& left = expr_->terms;
  const auto& right = other.expr_->terms;
  if (left.size() != right.size()) return left.size() < right.size() ? -1 : 1;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (int order = compare_factors(left[i], right[i]); order != 0) return order;
    if (left[i].coefficient != right[i].coefficient) {
      return left[i].coefficient < right[i].coefficient ? -1 : 1;
    }
  }
  if (expr_->constant == other.expr_->constant) return 0;
  return expr_->constant < other.expr_->constant ? -1 : 1;
}

std::string Dim::to_string() const {
  if (is_static()) return std::to_string(value_);
  std::string out;
  for (const DimTerm& term : expr_->terms) {
    if (!out.empty() && term.coefficient > 0) out += "+";
    if (term.coefficient == -1) out += "-";
    if (term.coefficient != 1 && term.coefficient != -1) {
      out += std::to_string(term.coefficient) + "*";
    }
    for (std::size_t i = 0; i < term.factors.size(); ++i) {
      out += (i == 0 ? "" : "*") + to_text(term.factors[i]);
    }
  }
  if (expr_->constant > 0) out += "+";
  if (expr_->constant != 0) out += std::to_string(expr_->constant);
  return out;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_static() && b.is_static()) return add(a.value(), b.value());
  DimExpr left = expr_of(a);
  const DimExpr right = expr_of(b);
  left.constant = add(left.constant, right.constant);
  left.terms.insert(left.terms.end(), right.terms.begin(), right.terms.end());
  return normalized(std::move(left));
}

Dim operator-(const Dim& a) { return a * Dim(-1); }
Dim operator-(const Dim& a, const Dim& b) { return a + (-b); }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_static() && b.is_static()) return mul(a.value(), b.value());
  DimExpr left = expr_of(a), right = expr_of(b), result;
  if (left.constant != 0) left.terms.push_back({left.constant, {}});
  if (right.constant != 0) right.terms.push_back({right.constant, {}});
  for (const DimTerm& x : left.terms) {
    for (const DimTerm& y : right.terms) {
      DimTerm term{mul(x.coefficient, y.coefficient), x.factors};
      term.factors.insert(term.factors.end(), y.factors.begin(), y.factors.end());
      std::sort(term.factors.begin(), term.factors.end(),
                [](const Atom& p, const Atom& q) { return compare_atoms(p, q) < 0; });
      if (term.factors.empty()) {
        result.constant = add(result.constant, term.coefficient);
      } else {
        result.terms.push_back(std::move(term));
      }
    }
  }
  return normalized(std::move(result));
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (b.is_static() && b.value() == 0) checked::reject("a dimension is divided by zero");
  if (auto quotient = exact_quotient(a, b)) return *quotient;
  return combine(DimOp::FloorDiv, a, b);
}

Dim ceil_div(const Dim& a, const Dim& b) { return floor_div(a + b - 1, b); }

Dim mod(const Dim& a, const Dim& b) {
  if (b.is_static() && b.value() == 0) checked::reject("a dimension is divided by zero");
  if (exact_quotient(a, b)) return 0;
  return combine(DimOp::Mod, a, b);
}

Dim max(const Dim& a, const Dim& b) { return combine(DimOp::Max, a, b); }
Dim min(const Dim& a, const Dim& b) { return combine(DimOp::Min, a, b); }

Ternary less_equal(const Dim& a, const Dim& b) {
  if (a.is_static() && b.is_static()) return a.value() <= b.value() ? Ternary::Yes : Ternary::No;
  const auto at_least = lower_bound(b - a);
  if (at_least && *at_least >= 0) return Ternary::Yes;
  const auto above = lower_bound(a - b);
  if (above && *above > 0) return Ternary::No;
  return Ternary::Unknown;
}

Ternary equal(const Dim& a, const Dim& b) {
  if (a == b) return Ternary::Yes;
  if (a.is_static() && b.is_static()) return Ternary::No;
  const auto above = lower_bound(a - b);
  const auto below = lower_bound(b - a);
  if ((above && *above > 0) || (below && *below > 0)) return Ternary::No;
  return Ternary::Unknown;
}

Ternary equal(const Dims& a, const Dims& b) {
  if (a.size() != b.size()) return Ternary::No;
  Ternary all = Ternary::Yes;
  for (std::size_t i = 0; i < a.size() && all != Ternary::No; ++i) {
    const Ternary one = equal(a[i], b[i]);
    if (one != Ternary::Yes) all = one;
  }
  return all;
}

Dim product(const Dims& dims) {
  Dim result = 1;
  for (const Dim& dim : dims) result = result * dim;
  return result;
}

std::string to_string(const Dims& dims) { return text("[", join_text(dims, ","), "]"); }

std::ostream& operator<<(std::ostream& out, const Dim& dim) { return out << dim.to_string(); }

}  // namespace kiln::ir
