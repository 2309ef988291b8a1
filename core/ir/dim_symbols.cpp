// What becomes of a Dim when its symbols get values or other dims. Recursion follows nested floor
// divisions, mods, maxima and minima alone. The form that all of this keeps is made in dim.cpp.
#include "core/ir/checked_size.h"
#include "core/ir/dim.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>

namespace kiln::ir {
namespace {

using checked::add;
using checked::floor_div_int;
using checked::mul;

using Atom = std::shared_ptr<const DimAtom>;

}  // namespace

std::int64_t evaluate(DimAtomKind kind, std::int64_t left, std::int64_t right) {
  switch (kind) {
    case DimAtomKind::FloorDiv: return floor_div_int(left, right);
    case DimAtomKind::Mod: return add(left, -mul(floor_div_int(left, right), right));
    case DimAtomKind::Max: return std::max(left, right);
    case DimAtomKind::Min: return std::min(left, right);
    case DimAtomKind::Symbol: break;
  }
  return 0;
}

std::int64_t evaluate(const Dim& dim, const SymbolValues& value_of) {
  if (dim.is_static()) return dim.value();
  std::int64_t sum = dim.expr()->constant;
  for (const DimTerm& term : dim.expr()->terms) {
    std::int64_t product = term.coefficient;
    for (const Atom& factor : term.factors) {
      if (factor->kind != DimAtomKind::Symbol) {
        product = mul(product, evaluate(factor->kind, evaluate(factor->left, value_of),
                                        evaluate(factor->right, value_of)));
        continue;
      }
      const auto value = value_of(factor->symbol);
      if (!value) throw ValueError("", "", text("dim ", factor->symbol.name, " has no value"));
      product = mul(product, *value);
    }
    sum = add(sum, product);
  }
  return sum;
}

Dim substitute(const Dim& dim, const SymbolReplacements& replacement) {
  if (dim.is_static()) return dim;
  Dim sum = dim.expr()->constant;
  for (const DimTerm& term : dim.expr()->terms) {
    Dim product = term.coefficient;
    for (const Atom& factor : term.factors) {
      if (factor->kind == DimAtomKind::Symbol) {
        product = product * replacement(factor->symbol).value_or(Dim::of(factor->symbol));
        continue;
      }
      const Dim left = substitute(factor->left, replacement);
      const Dim right = substitute(factor->right, replacement);
      const DimAtomKind kind = factor->kind;
      product = product * (kind == DimAtomKind::FloorDiv ? floor_div(left, right)
                           : kind == DimAtomKind::Mod    ? mod(left, right)
                           : kind == DimAtomKind::Max    ? max(left, right)
                                                         : min(left, right));
    }
    sum = sum + product;
  }
  return sum;
}

void for_each_symbol(const Dim& dim, const std::function<void(const Symbol&)>& visit) {
  if (dim.is_static()) return;
  for (const DimTerm& term : dim.expr()->terms) {
    for (const Atom& factor : term.factors) {
      if (factor->kind == DimAtomKind::Symbol) {
        visit(factor->symbol);
      } else {
        for_each_symbol(factor->left, visit);
        for_each_symbol(factor->right, visit);
      }
    }
  }
}

std::optional<std::pair<Symbol, std::int64_t>> solve(const Dim& dim, std::int64_t size,
                                                     const SymbolValues& value_of) {
  if (dim.is_static()) return std::nullopt;
  std::optional<Symbol> unknown;
  bool several = false;
  for_each_symbol(dim, [&](const Symbol& symbol) {
    if (value_of(symbol)) return;
    several = several || (unknown && unknown->id != symbol.id);
    unknown = symbol;
  });
  if (!unknown || several) return std::nullopt;
  const auto at = [&](std::int64_t x) {
    return evaluate(dim, [&](const Symbol& symbol) {
      return symbol.id == unknown->id ? std::optional<std::int64_t>(x) : value_of(symbol);
    });
  };
  for (const DimTerm& term : dim.expr()->terms) {
    int occurrences = 0;
    for (const Atom& factor : term.factors) {
      if (factor->kind != DimAtomKind::Symbol) return std::nullopt;
      occurrences += factor->symbol.id == unknown->id ? 1 : 0;
    }
    if (occurrences > 1) return std::nullopt;
  }
  const std::int64_t offset = at(0), slope = add(at(1), mul(offset, -1));
  const std::int64_t rest = add(size, mul(offset, -1));
  if (slope == 0) return std::nullopt;
  const std::int64_t value = floor_div_int(rest, slope);
  if (mul(value, slope) != rest) return std::nullopt;
  return std::pair{*unknown, value};
}

}  // namespace kiln::ir
