// A dimension: an integer, or a polynomial over named symbols with floor division, modulo, max
// and min as further atoms. Symbols stand for integers >= 0. The form is canonical, so that equal
// polynomials compare equal; comparisons that this cannot settle answer Unknown.
#pragma once

#include "core/ir/symbol.h"

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kiln::ir {

enum class Answer : std::uint8_t { No, Yes, Unknown };

struct DimExpr;

class Dim {
 public:
  Dim() = default;
  Dim(std::int64_t value) : value_(value) {}  // NOLINT: an integer is a dimension
  Dim(int value) : value_(value) {}           // NOLINT

  /// A symbol that no other call returns.
  static Dim fresh(std::string name);
  static Dim of(const Symbol& symbol);

  bool is_static() const { return expr_ == nullptr; }
  bool is_one() const { return is_static() && value_ == 1; }
  /// REQUIRES: is_static().
  std::int64_t value() const { return value_; }
  /// The symbol, when the dim is nothing but one.
  std::optional<Symbol> as_symbol() const;
  /// The polynomial; null when static.
  const DimExpr* expr() const { return expr_.get(); }

  std::size_t hash() const;
  /// "784", "x.0", "2*x.0+1", "floordiv(x.0,2)".
  std::string to_string() const;

  bool operator==(const Dim& other) const { return compare(other) == 0; }
  /// A total order of structures (by symbol name, then id); no numeric meaning.
  int compare(const Dim& other) const;

 private:
  friend struct DimAlgebra;
  std::int64_t value_ = 0;
  std::shared_ptr<const DimExpr> expr_;
};

/// What a product's factor can be. Leaf operations keep two operands.
enum class DimAtomKind : std::uint8_t { Symbol, FloorDiv, Mod, Max, Min };
struct DimAtom {
  DimAtomKind kind = DimAtomKind::Symbol;
  Symbol symbol;    // kind Symbol
  Dim left, right;  // the others
};
/// coefficient * product of factors, factors sorted (a power is a repeated factor).
struct DimTerm {
  std::int64_t coefficient = 0;
  std::vector<std::shared_ptr<const DimAtom>> factors;
};
/// constant + sum of terms; at least one term, sorted, no zero coefficient.
struct DimExpr {
  std::int64_t constant = 0;
  std::vector<DimTerm> terms;
};

/// Arithmetic; throws ValueError when an integer leaves 64 bits.
Dim operator+(const Dim& a, const Dim& b);
Dim operator-(const Dim& a, const Dim& b);
Dim operator*(const Dim& a, const Dim& b);
Dim operator-(const Dim& a);
/// Rounds toward minus infinity. Throws ValueError when b is 0.
Dim floor_div(const Dim& a, const Dim& b);
Dim ceil_div(const Dim& a, const Dim& b);
Dim mod(const Dim& a, const Dim& b);
Dim max(const Dim& a, const Dim& b);
Dim min(const Dim& a, const Dim& b);

Answer equal(const Dim& a, const Dim& b);
Answer less_equal(const Dim& a, const Dim& b);

using Dims = std::vector<Dim>;
/// Of dims one by one: No for different ranks.
Answer equal(const Dims& a, const Dims& b);
/// Product of all; 1 for none.
Dim product(const Dims& dims);
/// "[x.0,784]".
std::string to_string(const Dims& dims);

/// The value under `value_of`, which gives nothing for an unbound symbol.
/// Throws ValueError naming the symbol that is unbound, on overflow and on division by zero.
using SymbolValues = std::function<std::optional<std::int64_t>(const Symbol&)>;
std::int64_t evaluate(const Dim& dim, const SymbolValues& value_of);
/// The value of an atom whose operands have these values. REQUIRES: the kind is not Symbol. Throws
/// ValueError on overflow and on division by zero.
std::int64_t evaluate(DimAtomKind kind, std::int64_t left, std::int64_t right);

/// Replaces symbols; those that `replacement` gives nothing for stay.
using SymbolReplacements = std::function<std::optional<Dim>(const Symbol&)>;
Dim substitute(const Dim& dim, const SymbolReplacements& replacement);

/// Calls `visit` for every symbol occurrence, left to right.
void for_each_symbol(const Dim& dim, const std::function<void(const Symbol&)>& visit);

std::ostream& operator<<(std::ostream& out, const Dim& dim);

/// Solves `dim == size` for the one symbol that has no value yet, when dim is linear in it.
std::optional<std::pair<Symbol, std::int64_t>> solve(const Dim& dim, std::int64_t size,
                                                     const SymbolValues& value_of);

}  // namespace kiln::ir
