// FormulaBuilder: the operations of elementary functions. A builder emits each of them as code:
// LLVM IR for scalars or vectors (backends/cpu/llvm/scalar/float_lanes.h), or C++ statements
// (backends/codegen/text/text_builder.h). Comparisons with NaN are false unless stated otherwise.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace kiln::codegen::formulas {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The parameters of float32 or float64.
struct FloatFormat {
  bool is_double = false;

  unsigned mantissa_bits() const { return is_double ? 52 : 23; }  // without the implicit bit
  unsigned sign_bit() const { return is_double ? 63 : 31; }
  std::uint64_t bias() const { return is_double ? 1023 : 127; }
  /// Selects a constant by format.
  double by_format(double float32, double float64) const { return is_double ? float64 : float32; }
};

template <class F>
using Value = typename F::Value;

/// A builder for one format. A Value is a number of the format, an unsigned integer of the same
/// width (the bits of a number), or a condition; a default-constructed one is empty.
template <class F>
concept FormulaBuilder = std::default_initializable<typename F::Value> &&
                         requires(const F& f, const typename F::Value& v, double number,
                                  std::uint64_t bits, unsigned count) {
                           { f.format } -> std::convertible_to<FloatFormat>;
                           // Constants: a number, rounded to the format; NaN; an unsigned integer.
                           { f.real(number) } -> std::same_as<typename F::Value>;
                           { f.nan() } -> std::same_as<typename F::Value>;
                           { f.integer(bits) } -> std::same_as<typename F::Value>;
                           // Arithmetic. multiply_add(x, y, z) is x * y + z, rounded once if
                           // has_fma().
                           { f.has_fma() } -> std::same_as<bool>;
                           { f.add(v, v) } -> std::same_as<typename F::Value>;
                           { f.subtract(v, v) } -> std::same_as<typename F::Value>;
                           { f.multiply(v, v) } -> std::same_as<typename F::Value>;
                           { f.divide(v, v) } -> std::same_as<typename F::Value>;
                           { f.multiply_add(v, v, v) } -> std::same_as<typename F::Value>;
                           { f.negate(v) } -> std::same_as<typename F::Value>;
                           { f.magnitude(v) } -> std::same_as<typename F::Value>;
                           { f.with_sign_of(v, v) } -> std::same_as<typename F::Value>;
                           // Conditions; choose(condition, x, y) takes numbers or integers.
                           { f.less(v, v) } -> std::same_as<typename F::Value>;
                           { f.less_equal(v, v) } -> std::same_as<typename F::Value>;
                           { f.equal(v, v) } -> std::same_as<typename F::Value>;
                           { f.equal_or_nan(v, v) } -> std::same_as<typename F::Value>;
                           { f.both(v, v) } -> std::same_as<typename F::Value>;
                           { f.either(v, v) } -> std::same_as<typename F::Value>;
                           { f.negation(v) } -> std::same_as<typename F::Value>;
                           { f.choose(v, v, v) } -> std::same_as<typename F::Value>;
                           // Integers, modulo 2^32 or 2^64. shift_right_signed is an arithmetic
                           // shift; from_signed converts a two's complement integer to a number.
                           { f.bits(v) } -> std::same_as<typename F::Value>;
                           { f.from_bits(v) } -> std::same_as<typename F::Value>;
                           { f.add_bits(v, v) } -> std::same_as<typename F::Value>;
                           { f.subtract_bits(v, v) } -> std::same_as<typename F::Value>;
                           { f.and_bits(v, v) } -> std::same_as<typename F::Value>;
                           { f.or_bits(v, v) } -> std::same_as<typename F::Value>;
                           { f.xor_bits(v, v) } -> std::same_as<typename F::Value>;
                           { f.shift_left(v, count) } -> std::same_as<typename F::Value>;
                           { f.shift_right(v, count) } -> std::same_as<typename F::Value>;
                           { f.shift_right_signed(v, count) } -> std::same_as<typename F::Value>;
                           { f.from_signed(v) } -> std::same_as<typename F::Value>;
                           { f.differs(v, v) } -> std::same_as<typename F::Value>;
                           {
                             f.lowest_bit(v)
                           } -> std::same_as<typename F::Value>;  // as a condition
                           // Builders for float32 only: the builder for float64, conversion to
                           // float64 and back.
                           { f.doubles() } -> std::same_as<F>;
                           { f.widen(v) } -> std::same_as<typename F::Value>;
                           { f.narrow(v) } -> std::same_as<typename F::Value>;
                         };

inline constexpr std::uint32_t kLookupEntries = 8;
/// A table of integers of 32 bits.
using LookupTable = std::array<std::uint32_t, kLookupEntries>;

/// A builder whose targets may have an instruction that looks up an entry for each lane: `index` is
/// an integer whose low three bits select the entry. REQUIRES of lookup: has_lookup(), which
/// implies float32.
template <class F>
concept LookupBuilder =
    FormulaBuilder<F> && requires(const F& f, const typename F::Value& index, LookupTable table) {
      { f.has_lookup() } -> std::same_as<bool>;
      { f.lookup(index, table) } -> std::same_as<typename F::Value>;
    };

/// min(x, limit) and max(x, limit); NaN stays NaN.
template <FormulaBuilder F>
Value<F> at_most(const F& f, const Value<F>& x, const Value<F>& limit) {
  return f.choose(f.less(limit, x), limit, x);
}
template <FormulaBuilder F>
Value<F> at_least(const F& f, const Value<F>& x, const Value<F>& limit) {
  return f.choose(f.less(x, limit), limit, x);
}

/// 1.5 * 2^mantissa_bits. Adding it rounds to the nearest integer, which is then in the low bits;
/// subtracting it again gives that integer as a float. `bias` is added to those bits.
template <FormulaBuilder F>
Value<F> rounder(const F& f, std::uint64_t bias = 0) {
  const double shift = 1.5 * static_cast<double>(1ull << f.format.mantissa_bits());
  return f.real(shift + static_cast<double>(bias));
}

/// Moves an integer into the bits of the exponent.
template <FormulaBuilder F>
Value<F> to_exponent(const F& f, const Value<F>& integer) {
  return f.shift_left(integer, f.format.mantissa_bits());
}

/// Evaluates a polynomial by Horner's rule; the first coefficient is the constant term.
template <FormulaBuilder F>
Value<F> polynomial(const F& f, const Value<F>& x, std::span<const double> coefficients) {
  Value<F> sum = f.real(coefficients.back());
  for (std::size_t i = coefficients.size() - 1; i-- > 0;) {
    sum = f.multiply_add(sum, x, f.real(coefficients[i]));
  }
  return sum;
}

}  // namespace kiln::codegen::formulas
