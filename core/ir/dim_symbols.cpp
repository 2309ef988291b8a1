// Evaluates dims, substitutes their symbols and lists their operations, without recursion.
#include "core/ir/checked_size.h"
#include "core/ir/dim_algebra.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>
#include <unordered_set>

namespace kiln::ir {
namespace {

using checked::add;
using checked::floor_div_int;
using checked::mul;

bool has_operations(const Dim& dim) { return !dim.is_static() && dim.expr()->depth != 0; }

/// Calls `visit` for the operations in the terms of `dim`, from right to left.
template <class Visit>
void for_each_operation_reversed(const Dim& dim, const Visit& visit) {
  if (!has_operations(dim)) return;
  const std::vector<DimTerm>& terms = dim.expr()->terms;
  for (auto term = terms.rbegin(); term != terms.rend(); ++term) {
    for (auto factor = term->factors.rbegin(); factor != term->factors.rend(); ++factor) {
      if ((*factor)->operation()) visit(factor->get());
    }
  }
}

template <class ValueOf>
std::int64_t polynomial(const Dim& dim, const ValueOf& value_of) {
  std::int64_t sum = constant_of(dim);
  if (dim.is_static()) return sum;
  for (const DimTerm& term : dim.expr()->terms) {
    std::int64_t product = term.coefficient;
    bool overflows = false;
    for (const DimAtomRef& factor : term.factors) {
      checked::multiply(product, value_of(*factor), overflows);
    }
    if (overflows) checked::overflow();
    sum = add(sum, product);
  }
  return sum;
}

Dim apply(DimOp op, const Dim& left, const Dim& right) {
  switch (op) {
    case DimOp::FloorDiv: return floor_div(left, right);
    case DimOp::Mod: return mod(left, right);
    case DimOp::Max: return max(left, right);
    case DimOp::Min: break;
  }
  return min(left, right);
}

}  // namespace

std::int64_t evaluate(DimOp op, std::int64_t left, std::int64_t right) {
  switch (op) {
    case DimOp::FloorDiv: return floor_div_int(left, right);
    case DimOp::Mod: return checked::mod_int(left, right);
    case DimOp::Max: return std::max(left, right);
    case DimOp::Min: return std::min(left, right);
  }
  return 0;
}

std::vector<const DimAtom*> operations_of(const Dim& dim) {
  std::vector<const DimAtom*> order;
  if (!has_operations(dim)) return order;
  std::unordered_set<const DimAtom*> seen;
  std::vector<std::pair<const DimAtom*, bool>> pending;  // with whether its operands are listed
  const auto push = [&](const DimAtom* atom) {
    if (seen.count(atom) == 0) pending.emplace_back(atom, false);
  };
  for_each_operation_reversed(dim, push);
  while (!pending.empty()) {
    const auto [atom, is_ready] = pending.back();
    pending.pop_back();
    if (is_ready) {
      order.push_back(atom);
    } else if (seen.insert(atom).second) {
      pending.emplace_back(atom, true);
      for_each_operation_reversed(atom->operation()->right, push);
      for_each_operation_reversed(atom->operation()->left, push);
    }
  }
  return order;
}

namespace {

/// Up to so many operations, evaluation recurses: listing them would allocate.
constexpr std::uint32_t kMaxRecursion = 16;

std::int64_t value_of_symbol(const Symbol& symbol, const SymbolValues& value_of) {
  const auto value = value_of(symbol);
  if (!value) throw ValueError("", "", text("dim ", symbol.name, " has no value"));
  return *value;
}

std::int64_t evaluate_small(const Dim& dim, const SymbolValues& value_of) {
  return polynomial(dim, [&](const DimAtom& atom) {
    if (const Symbol* symbol = atom.symbol()) return value_of_symbol(*symbol, value_of);
    const auto& [op, left, right] = *atom.operation();
    const std::int64_t left_value = evaluate_small(left, value_of);
    return evaluate(op, left_value, evaluate_small(right, value_of));
  });
}

}  // namespace

std::int64_t evaluate(const Dim& dim, const SymbolValues& value_of) {
  if (dim.is_static()) return dim.value();
  if (dim.expr()->operations <= kMaxRecursion) return evaluate_small(dim, value_of);
  std::unordered_map<const DimAtom*, std::int64_t> known;
  const auto value = [&](const DimAtom& atom) {
    const Symbol* symbol = atom.symbol();
    return symbol ? value_of_symbol(*symbol, value_of) : known.at(&atom);
  };
  for (const DimAtom* atom : operations_of(dim)) {
    const auto& [op, left, right] = *atom->operation();
    const std::int64_t left_value = polynomial(left, value);
    known.emplace(atom, evaluate(op, left_value, polynomial(right, value)));
  }
  return polynomial(dim, value);
}

std::optional<Dim> Substitution::replaced(const DimAtom& atom) const {
  const Symbol* symbol = atom.symbol();
  return symbol ? replacement_(*symbol) : known_.at(&atom);
}

std::optional<Dim> Substitution::rebuilt(const Dim& dim) const {
  if (dim.is_static()) return std::nullopt;
  std::vector<Dim> parts;  // of the terms that change
  std::vector<DimTerm> rest;
  for (const DimTerm& term : dim.expr()->terms) {
    std::vector<std::optional<Dim>> factors;
    bool changes = false;
    for (const DimAtomRef& factor : term.factors) {
      factors.push_back(replaced(*factor));
      changes = changes || factors.back().has_value();
    }
    if (!changes) {
      rest.push_back(term);
      continue;
    }
    Dim product = term.coefficient;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      product = product * (factors[i] ? *factors[i] : DimAlgebra::of(term.factors[i]));
    }
    parts.push_back(std::move(product));
  }
  if (parts.empty()) return std::nullopt;
  parts.push_back(DimAlgebra::of(dim.expr()->constant, std::move(rest)));
  return total(parts);
}

Dim Substitution::operator()(const Dim& dim) {
  const auto is_known = [&](const DimAtom* atom) { return known_.count(atom) != 0; };
  for (const DimAtom* atom : operations_of(dim)) {
    if (is_known(atom)) continue;
    const auto& [op, left, right] = *atom->operation();
    const auto new_left = rebuilt(left), new_right = rebuilt(right);
    std::optional<Dim> result;
    if (new_left || new_right) {
      result = apply(op, new_left ? *new_left : left, new_right ? *new_right : right);
    }
    known_.emplace(atom, std::move(result));
  }
  return rebuilt(dim).value_or(dim);
}

Dim substitute(const Dim& dim, const SymbolReplacements& replacement) {
  return dim.is_static() ? dim : Substitution(replacement)(dim);
}

void for_each_symbol(const Dim& dim, const std::function<void(const Symbol&)>& visit) {
  if (dim.is_static()) return;
  std::unordered_set<const DimAtom*> seen;
  std::vector<const DimAtom*> pending;  // the last comes first
  const auto push = [&](const Dim& operand) {
    if (operand.is_static()) return;
    const std::vector<DimTerm>& terms = operand.expr()->terms;
    for (auto term = terms.rbegin(); term != terms.rend(); ++term) {
      for (auto factor = term->factors.rbegin(); factor != term->factors.rend(); ++factor) {
        pending.push_back(factor->get());
      }
    }
  };
  push(dim);
  while (!pending.empty()) {
    const DimAtom* atom = pending.back();
    pending.pop_back();
    if (const Symbol* symbol = atom->symbol()) {
      visit(*symbol);
    } else if (seen.insert(atom).second) {
      push(atom->operation()->right);
      push(atom->operation()->left);
    }
  }
}

std::optional<std::pair<Symbol, std::int64_t>> solve(const Dim& dim, std::int64_t size,
                                                     const SymbolValues& value_of) {
  // A factor that is an operation makes the dim not linear, whatever its symbols.
  if (dim.is_static() || dim.expr()->depth != 0) return std::nullopt;
  std::optional<Symbol> unknown;
  for (const DimTerm& term : dim.expr()->terms) {
    int occurrences = 0;
    for (const DimAtomRef& factor : term.factors) {
      const Symbol& symbol = *factor->symbol();
      if (value_of(symbol)) continue;
      if (unknown && unknown->id != symbol.id) return std::nullopt;
      unknown = symbol;
      ++occurrences;
    }
    if (occurrences > 1) return std::nullopt;
  }
  if (!unknown) return std::nullopt;
  const auto value_at = [&](std::int64_t x) {
    return evaluate(dim, [&](const Symbol& symbol) {
      return symbol.id == unknown->id ? std::optional<std::int64_t>(x) : value_of(symbol);
    });
  };
  const std::int64_t offset = value_at(0), slope = add(value_at(1), mul(offset, -1));
  const std::int64_t rest = add(size, mul(offset, -1));
  if (slope == 0) return std::nullopt;
  const std::int64_t value = floor_div_int(rest, slope);
  if (value < 0 || mul(value, slope) != rest) return std::nullopt;
  return std::pair{*unknown, value};
}

}  // namespace kiln::ir
