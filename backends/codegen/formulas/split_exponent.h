// Splits a number into exponent and mantissa by integer operations on its bits.
#pragma once

#include "backends/codegen/formulas/builder.h"

namespace kiln::codegen::formulas {

/// x = 2^n (1 + g) with 1 + g in [sqrt 1/2, sqrt 2), for normal x > 0.
template <class F>
struct SplitNumber {
  Value<F> n;         // as a float
  Value<F> exponent;  // n, modulo 2^32 or 2^64
  Value<F> g;
};

template <FormulaBuilder F>
SplitNumber<F> split_exponent(const F& f, const Value<F>& x) {
  const FloatFormat format = f.format;
  const Value<F> root_half = f.integer(format.is_double ? 0x3fe6a09e667f3bcd : 0x3f3504f3);
  const Value<F> offset = f.subtract_bits(f.bits(x), root_half);
  const Value<F> low = f.and_bits(offset, f.integer((1ull << format.mantissa_bits()) - 1));
  const Value<F> g = f.subtract(f.from_bits(f.add_bits(low, root_half)), f.real(1));
  if (!format.is_double) {
    const Value<F> exponent = f.shift_right_signed(offset, 23);
    return {f.from_signed(exponent), exponent, g};
  }
  // Few targets have arithmetic shifts or conversions of 64-bit integers: n + 1024 becomes the
  // mantissa of a number with exponent 52, from which 2^52 + 1024 is subtracted.
  const Value<F> above = f.add_bits(offset, f.integer(1024ull << 52));
  const Value<F> exponent = f.shift_right(above, 52);
  const Value<F> n = f.from_bits(f.or_bits(exponent, f.integer(0x4330000000000000)));
  return {f.subtract(n, f.real(0x1p52 + 1024)), f.subtract_bits(exponent, f.integer(1024)), g};
}

}  // namespace kiln::codegen::formulas
