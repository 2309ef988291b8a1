// sin and cos: |x| = n pi/2 + r, polynomials in r chosen by n mod 4. The reduction has pi/2 in
// parts whose products with n are exact; that suffices up to kLimit, and lanes beyond it are left
// to the C library. As that takes a branch, the code is a function of its own, one for each vector
// type. Polynomials are minimax for the relative error (float32 2^-27.8, float64 2^-57.6).
#include "backends/cpu/llvm/float_lanes.h"
#include "backends/cpu/llvm/vector_function.h"
#include "backends/cpu/llvm/vector_math.h"

namespace kiln::cpu {
namespace {

using llvm::Value;

constexpr double kLimit = 1e5;
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
// pi/2: 33 bits, 33 bits, the rest; and what follows the first part at once.
constexpr double kPart1 = 0x1.921fb544p+0, kPart2 = 0x1.0b4611a6p-34;
constexpr double kPart3 = 0x1.3198a2e037073p-69, kAfter1 = 0x1.0b4611a626331p-34;

struct Angle {
  Value* quadrant;  // its low two bits
  Value* r;
  Value* rest;  // below r, float64 only
};

Angle reduce_single(const FloatLanes& f, Value* x) {
  auto& b = f.e.b;
  Value* shifted = f.multiply_add(x, f.real(kTwoOverPi), f.rounder());
  llvm::Type* doubles = f.e.with_lanes_of(b.getDoubleTy(), f.type);
  Value* n = b.CreateFPExt(f.subtract(shifted, f.rounder()), doubles);
  Value* r = b.CreateFPExt(x, doubles);
  for (const double part : {kPart1, kAfter1}) {
    r = f.multiply_add(n, f.e.real(doubles, -part), r);
  }
  return {f.bits(shifted), b.CreateFPTrunc(r, f.type), nullptr};
}

Angle reduce_double(const FloatLanes& f, Value* x) {
  Value* shifted = f.multiply_add(x, f.real(kTwoOverPi), f.rounder());
  Value* n = f.subtract(shifted, f.rounder());
  Value* first = f.subtract(x, f.multiply(n, f.real(kPart1)));
  Value* product = f.multiply(n, f.real(kPart2));
  Value* second = f.subtract(first, product);
  Value* lost = f.subtract(f.subtract(first, second), product);
  Value* last = f.multiply_add(n, f.real(kPart3), f.e.b.CreateFNeg(lost));
  Value* r = f.subtract(second, last);
  return {f.bits(shifted), r, f.subtract(f.subtract(second, r), last)};
}

Value* sine(const FloatLanes& f, const Angle& a, Value* z) {
  Value* p = f.wide ? f.polynomial(z, {-0.166666666666666228, 0.00833333333332003981,
                                       -0.000198412698278551072, 2.75573129995186081e-6,
                                       -2.5050647770796587e-8, 1.58903072149635378e-10})
                    : f.polynomial(z, {-0.1666665347, 0.008332083462, -0.000195043175});
  Value* cube = f.multiply(a.r, z);
  if (!f.wide) return f.multiply_add(cube, p, a.r);
  return f.add(a.r, f.multiply_add(cube, p, a.rest));
}

Value* cosine(const FloatLanes& f, const Angle& a, Value* z) {
  Value* p = f.wide ? f.polynomial(z, {0.0416666666666665816, -0.00138888888888709142,
                                       0.0000248015872874198963, -2.75573137425620507e-7,
                                       2.08756387900215212e-9, -1.13552041770034774e-11})
                    : f.polynomial(z, {0.04166664438, -0.001388724274, 2.442388866e-5});
  Value* half = f.multiply(z, f.real(0.5));
  Value* near = f.subtract(f.real(1), half);
  Value* lost = f.subtract(f.subtract(f.real(1), near), half);
  Value* tail = f.multiply_add(f.multiply(z, z), p, lost);
  if (f.wide) tail = f.subtract(tail, f.multiply(a.r, a.rest));
  return f.add(near, tail);
}

/// sin or cos of magnitudes up to kLimit.
Value* moderate(const FloatLanes& f, Value* x, bool is_cosine) {
  auto& b = f.e.b;
  Value* size = f.magnitude(x);
  const Angle a = f.wide ? reduce_double(f, size) : reduce_single(f, size);
  Value* quadrant = is_cosine ? b.CreateAdd(a.quadrant, f.integer(1)) : a.quadrant;
  Value* z = f.multiply(a.r, a.r);
  Value* odd = b.CreateICmpNE(b.CreateAnd(quadrant, f.integer(1)), f.integer(0));
  Value* y = f.bits(f.choose(odd, cosine(f, a, z), sine(f, a, z)));
  const unsigned top = f.mantissa + (f.wide ? 11 : 8);
  Value* sign = b.CreateShl(b.CreateAnd(quadrant, f.integer(2)), top - 1);
  if (!is_cosine) {
    sign = b.CreateXor(sign, b.CreateAnd(f.bits(x), f.integer(1ull << top)));
  }
  return f.from_bits(b.CreateXor(y, sign));
}

void emit_body(const Emit& e, Value* x, bool is_cosine) {
  const FloatLanes f(e, x);
  Value* y = moderate(f, x, is_cosine);
  Value* far = e.b.CreateFCmpOGT(f.magnitude(x), f.real(kLimit));
  Value* any = x->getType()->isVectorTy() ? e.b.CreateOrReduce(far) : far;
  llvm::Function* function = e.b.GetInsertBlock()->getParent();
  auto* rare = llvm::BasicBlock::Create(e.b.getContext(), "rare", function);
  auto* usual = llvm::BasicBlock::Create(e.b.getContext(), "usual", function);
  e.b.CreateCondBr(any, rare, usual);
  e.b.SetInsertPoint(usual);
  e.b.CreateRet(y);
  e.b.SetInsertPoint(rare);
  const char* name = is_cosine ? (f.wide ? "cos" : "cosf") : (f.wide ? "sin" : "sinf");
  e.b.CreateRet(f.choose(far, e.per_lane(name, {x}), y));
}

}  // namespace

Value* emit_sin(const Emit& e, Value* x) {
  return call_vector_function(e, "kiln_sin", {x}, [](const Emit& inside, llvm::ArrayRef<Value*> x) {
    emit_body(inside, x[0], false);
  });
}

Value* emit_cos(const Emit& e, Value* x) {
  return call_vector_function(e, "kiln_cos", {x}, [](const Emit& inside, llvm::ArrayRef<Value*> x) {
    emit_body(inside, x[0], true);
  });
}

}  // namespace kiln::cpu
