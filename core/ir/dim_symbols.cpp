// Evaluates dims and substitutes their symbols. Recursion follows nested operations only; results
// are kept canonical by the operators in dim.cpp.
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

std::int64_t evaluate(DimOp op, std::int64_t left, std::int64_t right) {
  switch (op) {
    case DimOp::FloorDiv: return floor_div_int(left, right);
    case DimOp::Mod: return add(left, -mul(floor_div_int(left, right), right));
    case DimOp::Max: return std::max(left, right);
    case DimOp::Min: return std::min(left, right);
  }
  return 0;
}

std::int64_t evaluate(const Dim& dim, const SymbolValues& value_of) {
  if (dim.is_static()) return dim.value();
  std::int64_t sum = dim.expr()->constant;
  for (const DimTerm& term : dim.expr()->terms) {
    std::int64_t product = term.coefficient;
    for (const Atom& factor : term.factors) {
      if (const auto* operation = std::get_if<DimOperation>(factor.get())) {
        product = mul(product, evaluate(operation->op, evaluate(operation->left, value_of),
                                        evaluate(operation->right, value_of)));
        continue;
      }
      const Symbol& symbol = std::get<Symbol>(*factor);
      const auto value = value_of(symbol);
      if (!value) throw ValueError("", "", text("dim ", symbol.name, " has no value"));
      product = mul(product, *value);
    }
    sum = add(sum, product);
  }
  return sum;
}

namespace {

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

Dim substitute(const Dim& dim, const SymbolReplacements& replacement) {
  if (dim.is_static()) return dim;
  Dim sum = dim.expr()->constant;
  for (const DimTerm& term : dim.expr()->terms) {
    Dim product = term.coefficient;
    for (const Atom& factor : term.factors) {
      if (const auto* symbol = std::get_if<Symbol>(factor.get())) {
        product = product * replacement(*symbol).value_or(Dim::of(*symbol));
        continue;
      }
      const auto& [op, left, right] = std::get<DimOperation>(*factor);
      product = product * apply(op, substitute(left, replacement), substitute(right, replacement));
    }
    sum = sum + product;
  }
  return sum;
}

void for_each_symbol(const Dim& dim, const std::function<void(const Symbol&)>& visit) {
  if (dim.is_static()) return;
  for (const DimTerm& term : dim.expr()->terms) {
    for (const Atom& factor : term.factors) {
      if (const auto* symbol = std::get_if<Symbol>(factor.get())) {
        visit(*symbol);
      } else {
        const auto& operation = std::get<DimOperation>(*factor);
        for_each_symbol(operation.left, visit);
        for_each_symbol(operation.right, visit);
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
  const auto value_at = [&](std::int64_t x) {
    return evaluate(dim, [&](const Symbol& symbol) {
      return symbol.id == unknown->id ? std::optional<std::int64_t>(x) : value_of(symbol);
    });
  };
  for (const DimTerm& term : dim.expr()->terms) {
    int occurrences = 0;
    for (const Atom& factor : term.factors) {
      const auto* symbol = std::get_if<Symbol>(factor.get());
      if (symbol == nullptr) return std::nullopt;
      occurrences += symbol->id == unknown->id ? 1 : 0;
    }
    if (occurrences > 1) return std::nullopt;
  }
  const std::int64_t offset = value_at(0), slope = add(value_at(1), mul(offset, -1));
  const std::int64_t rest = add(size, mul(offset, -1));
  if (slope == 0) return std::nullopt;
  const std::int64_t value = floor_div_int(rest, slope);
  if (mul(value, slope) != rest) return std::nullopt;
  return std::pair{*unknown, value};
}

}  // namespace kiln::ir
