// Division where many numbers have one divisor.
#include "backends/cpu/llvm/vector_math.h"

namespace kiln::cpu {

using llvm::Value;

Value* emit_quotient(const Emit& e, Value* x, Value* y) {
  llvm::Type* type = x->getType();
  // Reciprocals of very large or small numbers would leave the range: both sides are scaled.
  Value* size = e.intrinsic(llvm::Intrinsic::fabs, {y});
  Value* scale = e.b.CreateSelect(e.b.CreateFCmpOGT(size, e.real(type, 0x1p96)),
                                  e.real(type, 0x1p-64), e.real(type, 1));
  scale = e.b.CreateSelect(e.b.CreateFCmpOLT(size, e.real(type, 0x1p-96)), e.real(type, 0x1p64),
                           scale);
  Value* divisor = e.b.CreateFMul(y, scale);
  Value* reciprocal = e.b.CreateFDiv(e.real(type, 1), divisor);
  Value* dividend = e.b.CreateFMul(x, scale);
  Value* quotient = e.b.CreateFMul(dividend, reciprocal);
  Value* rest = e.multiply_add(e.b.CreateFNeg(quotient), divisor, dividend);
  Value* better = e.multiply_add(rest, reciprocal, quotient);
  // Without a remainder the quotient is exact, with its sign where it is zero; infinities and zero
  // divisors leave NaN as remainder.
  Value* zero = llvm::Constant::getNullValue(type);
  return e.b.CreateSelect(e.b.CreateFCmpONE(rest, zero), better, quotient);
}

}  // namespace kiln::cpu
