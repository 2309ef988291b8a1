// float32: reduction to a small interval, then polynomials that are minimax there (weighted least
// squares on Chebyshev nodes with Lawson's reweighting, errors below 4e-9). float64: the C library,
// lane by lane.
#include "backends/cpu/llvm/vector_math.h"

namespace kiln::cpu {
namespace {

using llvm::Value;

constexpr double kLog2E = 1.44269504088896341;
// ln 2 in two parts: the first has zeros at its end, so that small integers times it are exact.
constexpr double kLn2High = 0.693359375, kLn2Low = -2.12194440e-4;
/// Adding it leaves the nearest integer in the low bits of the mantissa.
constexpr double kRounder = 12582912.0;

Value* polynomial(const Emit& e, Value* x, llvm::ArrayRef<double> coefficients) {
  Value* sum = e.real(x->getType(), coefficients.back());
  for (std::size_t i = coefficients.size() - 1; i-- > 0;) {
    sum = e.multiply_add(sum, x, e.real(x->getType(), coefficients[i]));
  }
  return sum;
}

Value* as_integer(const Emit& e, Value* x) {
  return e.b.CreateBitCast(x, e.with_lanes_of(e.b.getInt32Ty(), x->getType()));
}

/// 2^n for the integer n in -126 .. 127.
Value* power_of_two(const Emit& e, Value* n, llvm::Type* floats) {
  Value* biased = e.b.CreateAdd(n, e.integer(n->getType(), 127));
  return e.b.CreateBitCast(e.b.CreateShl(biased, 23), floats);
}

bool is_double(Value* x) { return x->getType()->getScalarType()->isDoubleTy(); }

struct Reduced {
  Value* fraction;  // |fraction| <= ln 2 / 2
  Value* exponent;  // x = exponent * ln 2 + fraction
};

Reduced reduce(const Emit& e, Value* x) {
  llvm::Type* type = x->getType();
  Value* shifted = e.b.CreateFAdd(e.b.CreateFMul(x, e.real(type, kLog2E)), e.real(type, kRounder));
  Value* rounded = e.b.CreateFSub(shifted, e.real(type, kRounder));
  Value* fraction = e.multiply_add(rounded, e.real(type, -kLn2High), x);
  fraction = e.multiply_add(rounded, e.real(type, -kLn2Low), fraction);
  Value* bits = as_integer(e, shifted);
  Value* exponent = e.b.CreateSub(bits, e.integer(bits->getType(), 0x4b400000));
  return {fraction, exponent};
}

/// e^fraction - 1 for a reduced fraction.
Value* small_expm1(const Emit& e, Value* r) {
  Value* q = polynomial(e, r, {0.5000000096, 0.1666651771, 0.0416662023, 0.0083690249,
                               0.0013950725});
  return e.multiply_add(e.b.CreateFMul(r, r), q, r);
}

}  // namespace

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
  // Infinities have no remainder; zeros keep their sign.
  better = e.intrinsic(llvm::Intrinsic::copysign, {better, quotient});
  return e.b.CreateSelect(e.b.CreateFCmpORD(better, better), better, quotient);
}

Value* emit_exp(const Emit& e, Value* x) {
  if (is_double(x)) return e.per_lane("exp", {x});
  llvm::Type* type = x->getType();
  // Beyond these the result is 0 or infinity anyway; comparisons with NaN leave it.
  Value* low = e.b.CreateFCmpOLT(x, e.real(type, -104));
  Value* high = e.b.CreateFCmpOGT(x, e.real(type, 89));
  Value* clamped = e.b.CreateSelect(low, e.real(type, -104), x);
  clamped = e.b.CreateSelect(high, e.real(type, 89), clamped);
  const Reduced r = reduce(e, clamped);
  Value* mantissa = e.b.CreateFAdd(small_expm1(e, r.fraction), e.real(type, 1));
  // In two factors: the exponent may be one step beyond that of a float32.
  Value* half = e.b.CreateAShr(r.exponent, 1);
  Value* rest = e.b.CreateSub(r.exponent, half);
  Value* scaled = e.b.CreateFMul(mantissa, power_of_two(e, half, type));
  return e.b.CreateFMul(scaled, power_of_two(e, rest, type));
}

Value* emit_log(const Emit& e, Value* x) {
  if (is_double(x)) return e.per_lane("log", {x});
  llvm::Type* type = x->getType();
  Value* bits = as_integer(e, x);
  llvm::Type* integers = bits->getType();
  // x = 2^n m with m in [sqrt 1/2, sqrt 2)
  constexpr std::uint64_t kRootHalf = 0x3f3504f3;
  Value* offset = e.b.CreateSub(bits, e.integer(integers, kRootHalf));
  Value* n = e.b.CreateSIToFP(e.b.CreateAShr(offset, 23), type);
  Value* low = e.b.CreateAnd(offset, e.integer(integers, 0x007fffff));
  Value* m = e.b.CreateBitCast(e.b.CreateAdd(low, e.integer(integers, kRootHalf)), type);
  Value* f = e.b.CreateFSub(m, e.real(type, 1));
  Value* square = e.b.CreateFMul(f, f);
  Value* p = polynomial(e, f, {0.33333309854, -0.24999985240, 0.20002271125, -0.16669360399,
                               0.14217751889, -0.12381764855, 0.11877638869, -0.11807993407,
                               0.06926590637});
  Value* tail = e.b.CreateFMul(e.b.CreateFMul(square, f), p);
  tail = e.multiply_add(n, e.real(type, kLn2Low), tail);
  tail = e.multiply_add(square, e.real(type, -0.5), tail);
  Value* y = e.multiply_add(n, e.real(type, kLn2High), e.b.CreateFAdd(f, tail));
  const double infinity = std::numeric_limits<double>::infinity();
  Value* big = e.b.CreateFCmpUEQ(x, e.real(type, infinity));  // or NaN
  y = e.b.CreateSelect(big, x, y);
  // Subnormal numbers count as zero.
  Value* zero = e.b.CreateFCmpOLT(x, e.real(type, 0x1p-126));
  Value* negative = e.b.CreateFCmpOLE(x, e.real(type, -0x1p-126));
  y = e.b.CreateSelect(zero, e.real(type, -infinity), y);
  return e.b.CreateSelect(negative, llvm::ConstantFP::getNaN(type), y);
}

Value* emit_tanh(const Emit& e, Value* x) {
  if (is_double(x)) return e.per_lane("tanh", {x});
  llvm::Type* type = x->getType();
  Value* z = e.b.CreateFMul(x, x);
  Value* p = polynomial(e, z, {-0.33333330864, 0.13333207980, -0.05394696673, 0.02170160518,
                               -0.00817916804, 0.00214420973});
  Value* small = e.multiply_add(e.b.CreateFMul(x, z), p, x);
  // 1 - 2 / (e^2|x| + 1), for |x| that is not small.
  Value* magnitude = e.intrinsic(llvm::Intrinsic::fabs, {x});
  Value* power = emit_exp(e, e.b.CreateFAdd(magnitude, magnitude));
  Value* quotient = e.b.CreateFDiv(e.real(type, 2), e.b.CreateFAdd(power, e.real(type, 1)));
  Value* large = e.b.CreateFSub(e.real(type, 1), quotient);
  large = e.intrinsic(llvm::Intrinsic::copysign, {large, x});
  return e.b.CreateSelect(e.b.CreateFCmpOLT(magnitude, e.real(type, 0.625)), small, large);
}

Value* emit_sigmoid(const Emit& e, Value* x) {
  llvm::Type* type = x->getType();
  Value* power = emit_exp(e, e.b.CreateFNeg(x));
  return e.b.CreateFDiv(e.real(type, 1), e.b.CreateFAdd(e.real(type, 1), power));
}

}  // namespace kiln::cpu
