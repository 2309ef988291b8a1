// Emits divisions of many numbers by one divisor.
#include "backends/cpu/llvm/scalar/vector_math.h"

namespace kiln::cpu {

using llvm::Value;

Value* emit_quotient_of_share(const Emit& e, Value* x, Value* y) {
  // x is in [+0, 1] and y in [1, 2^64]: no step overflows or underflows and zeros have the sign +,
  // so that the scaling and the selection of emit_divide are not needed.
  Value* reciprocal = e.b.CreateFDiv(e.real(x->getType(), 1), y);
  Value* quotient = e.b.CreateFMul(x, reciprocal);
  Value* rest = e.multiply_add(e.b.CreateFNeg(quotient), y, x);
  return e.multiply_add(rest, reciprocal, quotient);
}

Value* emit_divide(const Emit& e, Value* x, Value* y) {
  llvm::Type* type = x->getType();
  // The reciprocal of a very large or small divisor would overflow or underflow: scale both
  // operands.
  Value* size = e.intrinsic(llvm::Intrinsic::fabs, {y});
  Value* scale = e.b.CreateSelect(e.b.CreateFCmpOGT(size, e.real(type, 0x1p96)),
                                  e.real(type, 0x1p-64), e.real(type, 1));
  scale =
      e.b.CreateSelect(e.b.CreateFCmpOLT(size, e.real(type, 0x1p-96)), e.real(type, 0x1p64), scale);
  Value* divisor = e.b.CreateFMul(y, scale);
  Value* reciprocal = e.b.CreateFDiv(e.real(type, 1), divisor);
  Value* dividend = e.b.CreateFMul(x, scale);
  Value* quotient = e.b.CreateFMul(dividend, reciprocal);
  Value* rest = e.multiply_add(e.b.CreateFNeg(quotient), divisor, dividend);
  Value* better = e.multiply_add(rest, reciprocal, quotient);
  // A zero keeps the sign of the quotient. Infinite quotients, infinite operands and zero divisors
  // make the better one NaN.
  Value* zero = llvm::Constant::getNullValue(type);
  return e.b.CreateSelect(e.b.CreateFCmpONE(better, zero), better, quotient);
}

}  // namespace kiln::cpu
