// Philox 4x32-10: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
// 2011.
#include "backends/cpu/llvm/emit_random.h"

#include <array>
#include <cmath>

namespace kiln::cpu {
namespace {

using llvm::Value;

constexpr int kRounds = 10;

Value* to_unit(const Emit& e, DType dtype, Value* r0, Value* r1) {
  if (dtype == DType::Float64) {
    llvm::Type* wide = e.with_lanes_of(e.b.getInt64Ty(), r0->getType());
    Value* bits = e.b.CreateOr(e.b.CreateShl(e.b.CreateZExt(r0, wide), 32),
                               e.b.CreateZExt(r1, wide));
    Value* y = e.b.CreateUIToFP(e.b.CreateLShr(bits, 11),
                                e.with_lanes_of(e.b.getDoubleTy(), wide));
    return e.b.CreateFMul(y, e.real(y->getType(), 0x1p-53));
  }
  const unsigned kept = dtype == DType::Float16 ? 11 : dtype == DType::BFloat16 ? 8 : 24;
  // As signed numbers, which convert in one instruction: the top bit is clear.
  Value* y = e.b.CreateSIToFP(e.b.CreateLShr(r0, 32 - kept),
                              e.with_lanes_of(e.b.getFloatTy(), r0->getType()));
  return e.b.CreateFMul(y, e.real(y->getType(), std::ldexp(1.0, -static_cast<int>(kept))));
}

}  // namespace

Value* emit_uniform(const Emit& e, DType dtype, const DrawKeys& keys) {
  llvm::Type* wide = keys.element->getType();
  llvm::Type* narrow = e.with_lanes_of(e.b.getInt32Ty(), wide);
  const auto low = [&](Value* v) { return e.b.CreateTrunc(v, narrow); };
  const auto high = [&](Value* v) { return e.b.CreateTrunc(e.b.CreateLShr(v, 32), narrow); };
  std::array<Value*, 4> c = {
      low(keys.element), e.b.CreateXor(high(keys.element), low(keys.call_counter)),
      low(keys.position), e.b.CreateXor(high(keys.position), e.integer(narrow, keys.stream))};
  Value *k0 = low(keys.seed), *k1 = high(keys.seed);
  for (int round = 0; round < kRounds; ++round) {
    Value* p0 = e.b.CreateMul(e.b.CreateZExt(c[0], wide), e.integer(wide, 0xD2511F53u));
    Value* p1 = e.b.CreateMul(e.b.CreateZExt(c[2], wide), e.integer(wide, 0xCD9E8D57u));
    c = {e.b.CreateXor(e.b.CreateXor(high(p1), c[1]), k0), low(p1),
         e.b.CreateXor(e.b.CreateXor(high(p0), c[3]), k1), low(p0)};
    k0 = e.b.CreateAdd(k0, e.integer(narrow, 0x9E3779B9u));
    k1 = e.b.CreateAdd(k1, e.integer(narrow, 0xBB67AE85u));
  }
  return to_unit(e, dtype, c[0], c[1]);
}

}  // namespace kiln::cpu
