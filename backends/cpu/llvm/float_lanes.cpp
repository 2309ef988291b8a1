// The format of a value, polynomials by Horner's rule, exponents by integer arithmetic.
#include "backends/cpu/llvm/float_lanes.h"

namespace kiln::cpu {

FloatLanes::FloatLanes(const Emit& emit, V x)
    : e(emit), type(x->getType()), wide(type->getScalarType()->isDoubleTy()),
      mantissa(wide ? 52 : 23), bias(wide ? 1023 : 127) {
  integers = e.with_lanes_of(wide ? e.b.getInt64Ty() : e.b.getInt32Ty(), type);
}

FloatLanes::V FloatLanes::polynomial(V x, Coefficients coefficients) const {
  V sum = real(coefficients.back());
  for (std::size_t i = coefficients.size() - 1; i-- > 0;) {
    sum = multiply_add(sum, x, real(coefficients[i]));
  }
  return sum;
}

Split split_exponent(const FloatLanes& f, llvm::Value* x) {
  using llvm::Value;
  auto& b = f.e.b;
  Value* root_half = f.integer(f.wide ? 0x3fe6a09e667f3bcd : 0x3f3504f3);
  Value* offset = b.CreateSub(f.bits(x), root_half);
  Value* low = b.CreateAnd(offset, f.integer((1ull << f.mantissa) - 1));
  Value* g = f.subtract(f.from_bits(b.CreateAdd(low, root_half)), f.real(1));
  if (!f.wide) {
    Value* exponent = b.CreateAShr(offset, 23);
    return {b.CreateSIToFP(exponent, f.type), exponent, g};
  }
  // Few targets shift or convert signed 64 bit integers: n + 1024 as the mantissa of 2^52.
  Value* above = b.CreateAdd(offset, f.integer(1024ull << 52));
  Value* exponent = b.CreateLShr(above, 52);
  Value* n = f.from_bits(b.CreateOr(exponent, f.integer(0x4330000000000000)));
  return {f.subtract(n, f.real(0x1p52 + 1024)), b.CreateSub(exponent, f.integer(1024)), g};
}

}  // namespace kiln::cpu
