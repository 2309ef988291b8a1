// Arithmetic on floats and on their bits, for scalars and vectors alike, as formulas read it.
#pragma once

#include "backends/cpu/llvm/emit_context.h"

namespace kiln::cpu {

/// What a polynomial or a constant is rounded from; one list a format.
using Coefficients = llvm::ArrayRef<double>;

struct FloatLanes {
  using V = llvm::Value*;

  /// The format of x and its number of lanes.
  FloatLanes(const Emit& emit, V x);

  const Emit& e;
  llvm::Type* type;
  llvm::Type* integers;  // as wide as the floats
  bool wide;             // double
  unsigned mantissa;     // stored bits of it
  unsigned bias;

  V real(double x) const { return e.real(type, x); }
  V integer(std::uint64_t x) const { return e.integer(integers, x); }
  /// One of two constants.
  double by_format(double single, double twice) const { return wide ? twice : single; }

  V add(V x, V y) const { return e.b.CreateFAdd(x, y); }
  V subtract(V x, V y) const { return e.b.CreateFSub(x, y); }
  V multiply(V x, V y) const { return e.b.CreateFMul(x, y); }
  V divide(V x, V y) const { return e.b.CreateFDiv(x, y); }
  /// x * y + z, see Emit::multiply_add.
  V multiply_add(V x, V y, V z) const { return e.multiply_add(x, y, z); }
  V polynomial(V x, Coefficients coefficients) const;

  V magnitude(V x) const { return e.intrinsic(llvm::Intrinsic::fabs, {x}); }
  V with_sign_of(V x, V sign) const {
    return e.intrinsic(llvm::Intrinsic::copysign, {x, sign});
  }
  V below(V x, V y) const { return e.b.CreateFCmpOLT(x, y); }
  V choose(V condition, V x, V y) const { return e.b.CreateSelect(condition, x, y); }
  /// NaN stays in both.
  V at_most(V x, V limit) const { return choose(below(limit, x), limit, x); }
  V at_least(V x, V limit) const { return choose(below(x, limit), limit, x); }

  V bits(V x) const { return e.b.CreateBitCast(x, integers); }
  V from_bits(V x) const { return e.b.CreateBitCast(x, type); }
  V to_exponent(V integer) const { return e.b.CreateShl(integer, mantissa); }
  /// 1.5 times 2 to the number of mantissa bits: adding it leaves the nearest integer in the low
  /// bits (and subtracting it again, that integer as a float).
  V rounder() const { return real(1.5 * static_cast<double>(1ull << mantissa)); }
};

/// x = 2^n (1 + g) with 1 + g in [sqrt 1/2, sqrt 2), for normal x > 0.
struct Split {
  llvm::Value* n;         // as a float
  llvm::Value* exponent;  // n, modulo 2^32 or 2^64
  llvm::Value* g;
};
Split split_exponent(const FloatLanes& f, llvm::Value* x);

}  // namespace kiln::cpu
