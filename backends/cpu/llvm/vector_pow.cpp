// pow for float32: 2^(y log2|x|) in double, where a few terms give far more than is needed (log2
// to 2^-37 of itself, 2^t to 2^-34; minimax as elsewhere). What C says of special values follows
// from the extended range of double and three choices at the end.
#include "backends/cpu/llvm/float_lanes.h"
#include "backends/cpu/llvm/vector_function.h"
#include "backends/cpu/llvm/vector_math.h"

#include <cmath>
#include <limits>

namespace kiln::cpu {
namespace {

using llvm::Value;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// For x >= 0 that came from a float, NaN as it is.
Value* log2_of(const FloatLanes& f, Value* x) {
  auto& b = f.e.b;
  const Split parts = split_exponent(f, x);
  Value* s = f.divide(parts.g, f.add(parts.g, f.real(2)));
  Value* p = f.polynomial(f.multiply(s, s), {2.88539008179014699, 0.961796673275709654,
                                             0.577083596191372512, 0.411672108923019587,
                                             0.340740466387036295});
  Value* y = f.multiply_add(s, p, parts.n);
  y = f.choose(b.CreateFCmpUEQ(x, f.real(kInfinity)), x, y);
  return f.choose(b.CreateFCmpOEQ(x, f.real(0)), f.real(-kInfinity), y);
}

Value* exp2_of(const FloatLanes& f, Value* t) {
  t = f.at_most(f.at_least(t, f.real(-200)), f.real(200));  // 0 and infinity in float32
  Value* shifted = f.add(t, f.rounder());
  Value* g = f.subtract(t, f.subtract(shifted, f.rounder()));
  Value* p = f.polynomial(g, {0.693147180541651724, 0.240226510758464257, 0.0555041096260486814,
                              0.00961803691144948121, 0.00133334307592947879,
                              0.000154671102172222005, 0.0000153149528344385381});
  Value* mantissa = f.bits(f.multiply_add(g, p, f.real(1)));
  return f.from_bits(f.e.b.CreateAdd(mantissa, f.to_exponent(f.bits(shifted))));
}

void emit_body(const Emit& e, llvm::ArrayRef<Value*> arguments) {
  auto& b = e.b;
  Value *x = arguments[0], *y = arguments[1];
  const FloatLanes single(e, x);
  llvm::Type* doubles = e.with_lanes_of(b.getDoubleTy(), x->getType());
  Value* size = b.CreateFPExt(single.magnitude(x), doubles);
  const FloatLanes f(e, size);
  // Beyond the limit every exponent is an even integer, and takes all but 1 to 0 or infinity.
  Value* limit = f.real(0x1p40);
  Value* exponent = b.CreateFPExt(y, doubles);
  exponent = f.at_most(f.at_least(exponent, b.CreateFNeg(limit)), limit);
  Value* shifted = f.add(exponent, f.rounder());
  Value* is_integer = b.CreateFCmpOEQ(f.subtract(shifted, f.rounder()), exponent);
  Value* odd = b.CreateTrunc(f.bits(shifted), e.with_lanes_of(b.getInt1Ty(), x->getType()));

  Value* power = exp2_of(f, f.multiply(exponent, log2_of(f, size)));
  Value* result = b.CreateFPTrunc(power, x->getType());
  Value* sign = b.CreateAnd(single.bits(x), single.integer(0x80000000));
  sign = b.CreateSelect(b.CreateAnd(odd, is_integer), sign, single.integer(0));
  result = single.from_bits(b.CreateOr(single.bits(result), sign));

  Value* negative = b.CreateAnd(single.below(x, single.real(0)),
                                single.below(single.real(-kInfinity), x));
  Value* invalid = b.CreateAnd(negative, b.CreateNot(is_integer));
  result = single.choose(invalid, llvm::ConstantFP::getNaN(x->getType()), result);
  Value* is_one = b.CreateOr(b.CreateFCmpOEQ(x, single.real(1)),
                             b.CreateFCmpOEQ(y, single.real(0)));
  b.CreateRet(single.choose(is_one, single.real(1), result));
}

Value* without_subnormals(const Emit& e, Value* x) {
  const FloatLanes f(e, x);
  Value* subnormal = f.below(f.magnitude(x), f.real(f.by_format(0x1p-126, 0x1p-1022)));
  return f.choose(subnormal, f.with_sign_of(f.real(0), x), x);
}

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

Value* emit_library_call(const Emit& e, const char* name, llvm::ArrayRef<Value*> arguments) {
  std::vector<Value*> normal;
  for (Value* x : arguments) normal.push_back(without_subnormals(e, x));
  return without_subnormals(e, e.per_lane(name, normal));
}

Value* emit_pow(const Emit& e, Value* x, Value* y) {
  if (x->getType()->getScalarType()->isDoubleTy()) return emit_library_call(e, "pow", {x, y});
  return call_vector_function(e, "kiln_pow", {x, y}, emit_body);
}

std::vector<RuntimeSymbol> vector_math_symbols() {
  using Single = float(float);
  using Wide = double(double);
  return {{"sinf", address<Single>(::sinf)}, {"sin", address<Wide>(::sin)},
          {"cosf", address<Single>(::cosf)}, {"cos", address<Wide>(::cos)},
          {"erf", address<Wide>(::erf)},     {"pow", address<double(double, double)>(::pow)}};
}

}  // namespace kiln::cpu
