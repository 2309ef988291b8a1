// Dim: a static or symbolic size. It is an integer, or a polynomial with integer coefficients over
// atoms: symbols, which stand for integers >= 0, and floor divisions, remainders, maxima and minima
// of dims. The form is canonical: equal polynomials compare equal. Comparisons that bounds of the
// terms cannot decide are Unknown. Operations are shared: a dim is a directed acyclic graph, and
// every function is linear in its distinct operations, without recursion over their nesting.
#pragma once

#include "core/ir/symbol.h"

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace kiln::ir {

/// The result of a comparison of symbolic dims.
enum class Ternary : std::uint8_t { No, Yes, Unknown };

// Limits of a dim. Arithmetic that exceeds one throws ValueError; readers of modules enforce the
// same ones.
inline constexpr std::size_t kMaxDimTerms = 65536;
inline constexpr std::size_t kMaxDimFactors = 64;  // of a term
inline constexpr std::size_t kMaxDimDepth = 1024;  // nesting of floordiv, mod, max and min

struct DimAtom;
struct DimExpr;

class Dim {
 public:
  Dim() = default;
  Dim(std::int64_t value) : value_(value) {}  // NOLINT: an integer is a dimension
  Dim(int value) : value_(value) {}  // NOLINT

  /// A new symbol, different from all others in the process. Thread-safe.
  static Dim fresh(std::string name);
  static Dim of(const Symbol& symbol);

  bool is_static() const { return expr_ == nullptr; }
  bool is_one() const { return is_static() && value_ == 1; }
  /// REQUIRES: is_static().
  std::int64_t value() const { return value_; }
  /// The symbol, if the dim is just a symbol.
  std::optional<Symbol> as_symbol() const;
  /// The polynomial; null when static.
  const DimExpr* expr() const { return expr_.get(); }

  std::size_t hash() const;
  /// "784", "x.0", "2*x.0+1", "floordiv(x.0,2)", for messages: a text of more than kMaxDimText
  /// characters ends in "...".
  std::string to_string() const;

  bool operator==(const Dim& other) const {
    if (expr_ == other.expr_) return value_ == other.value_;
    return expr_ && other.expr_ && hash() == other.hash() && compare(other) == 0;
  }
  /// A total order of the structures (by symbol name, then id), without numeric meaning.
  int compare(const Dim& other) const;

 private:
  friend struct DimAlgebra;
  std::int64_t value_ = 0;
  std::shared_ptr<const DimExpr> expr_;
};

/// The operations that are not polynomial. The numbers are part of the module format, which writes
/// 0 for a symbol.
enum class DimOp : std::uint8_t { FloorDiv = 1, Mod, Max, Min };
struct DimOperation {
  DimOp op = DimOp::FloorDiv;
  Dim left, right;
};
/// A factor of a term.
struct DimAtom {
  explicit DimAtom(const Symbol& symbol);
  /// REQUIRES: the nesting is at most kMaxDimDepth.
  explicit DimAtom(DimOperation operation);
  /// Frees nested operations without recursion.
  ~DimAtom();
  DimAtom(const DimAtom&) = delete;
  DimAtom& operator=(const DimAtom&) = delete;

  const Symbol* symbol() const { return std::get_if<Symbol>(&form); }
  const DimOperation* operation() const { return std::get_if<DimOperation>(&form); }

  std::variant<Symbol, DimOperation> form;
  std::size_t hash = 0;
  bool is_nonnegative = true;  // known to be, for all values of the symbols
  std::uint32_t depth = 0;  // of nested operations; 0: a symbol
  std::uint32_t operations = 0;  // counted at every use; UINT32_MAX: as many or more
};
using DimAtomRef = std::shared_ptr<const DimAtom>;
/// coefficient * product of factors; the factors are sorted, a power is a repeated factor.
struct DimTerm {
  std::int64_t coefficient = 0;
  std::vector<DimAtomRef> factors;
};
/// constant + sum of terms: at least one term, sorted, no zero coefficients.
struct DimExpr {
  std::int64_t constant = 0;
  std::vector<DimTerm> terms;
  std::size_t hash = 0;
  std::uint32_t depth = 0, operations = 0;  // as in DimAtom
  mutable std::shared_ptr<const DimExpr> next_released{};  // owned by ~DimAtom
};

/// Arithmetic. Throws ValueError when an integer overflows 64 bits.
Dim operator+(const Dim& a, const Dim& b);
Dim operator-(const Dim& a, const Dim& b);
Dim operator*(const Dim& a, const Dim& b);
Dim operator-(const Dim& a);
/// The quotient rounded toward minus infinity, and the matching remainder. Throws ValueError when b
/// is 0.
Dim floor_div(const Dim& a, const Dim& b);
Dim ceil_div(const Dim& a, const Dim& b);
Dim mod(const Dim& a, const Dim& b);
Dim max(const Dim& a, const Dim& b);
Dim min(const Dim& a, const Dim& b);
/// The sum, in time linear in its length.
Dim total(std::span<const Dim> dims);
/// An equal dim in which maxima and minima cancel: n - min(1, n) is max(n - 1, 0), and
/// min(1, n) + max(n - 1, 0) is n. Sums are not simplified by themselves: (n + m) - min(1, n) would
/// then have another form than (n - min(1, n)) + m.
Dim simplified(const Dim& dim);

/// Whether the relation holds for all values of the symbols (Yes), for none (No), or neither is
/// known.
Ternary equal(const Dim& a, const Dim& b);
Ternary less_equal(const Dim& a, const Dim& b);
/// Whether both are known to have the same value for all values of the symbols, in whatever form.
bool same_value(const Dim& a, const Dim& b);

using Dims = std::vector<Dim>;
/// Compares axis by axis; No for different ranks.
Ternary equal(const Dims& a, const Dims& b);
/// The product of all dims; 1 for an empty list.
Dim product(const Dims& dims);
/// "[x.0,784]".
std::string to_string(const Dims& dims);

inline constexpr std::size_t kMaxDimText = 160;
/// Appends the whole text of a dim. `append_operation` appends that of an operation.
using AppendOperation = std::function<void(std::string&, const DimAtom&)>;
void append_text(std::string& out, const Dim& dim, const AppendOperation& append_operation);
/// "max(LEFT,RIGHT)", with the text of each operand as above.
void append_text(std::string& out, const DimOperation& operation,
                 const AppendOperation& append_operation);

/// Evaluates `dim`; `value_of` returns nullopt for an unbound symbol. Throws ValueError for an
/// unbound symbol, naming it, on overflow and on division by zero.
using SymbolValues = std::function<std::optional<std::int64_t>(const Symbol&)>;
std::int64_t evaluate(const Dim& dim, const SymbolValues& value_of);
/// Applies `op` to integers. Throws ValueError on overflow and on division by zero.
std::int64_t evaluate(DimOp op, std::int64_t left, std::int64_t right);

/// Substitutes symbols; one for which `replacement` returns nullopt stays.
using SymbolReplacements = std::function<std::optional<Dim>(const Symbol&)>;
Dim substitute(const Dim& dim, const SymbolReplacements& replacement);

/// A substitution in several dims, which replaces an operation that they share once.
class Substitution {
 public:
  explicit Substitution(SymbolReplacements replacement) : replacement_(std::move(replacement)) {}
  /// REQUIRES: `dim` outlives this object, and the replacements do not change.
  Dim operator()(const Dim& dim);

 private:
  /// Nothing where the factor stays.
  std::optional<Dim> replaced(const DimAtom& atom) const;
  std::optional<Dim> rebuilt(const Dim& dim) const;

  SymbolReplacements replacement_;
  std::unordered_map<const DimAtom*, std::optional<Dim>> known_;
};

/// The operations of a dim, each object once, operands before their users.
std::vector<const DimAtom*> operations_of(const Dim& dim);

/// Calls `visit` for every symbol at least once, in the order of the first occurrences.
void for_each_symbol(const Dim& dim, const std::function<void(const Symbol&)>& visit);

std::ostream& operator<<(std::ostream& out, const Dim& dim);

/// Solves `dim == size` for the one symbol without a value; nullopt unless there is exactly one,
/// dim is linear in it and the solution is an integer.
std::optional<std::pair<Symbol, std::int64_t>> solve(const Dim& dim, std::int64_t size,
                                                     const SymbolValues& value_of);

}  // namespace kiln::ir
