// Emits Philox 4x32-10: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2,
// 3", 2011.
#include "backends/cpu/llvm/scalar/emit_random.h"

#include <array>
#include <cmath>

namespace kiln::cpu {
namespace {

using llvm::Value;

constexpr int kRounds = 10;

Value* to_unit(const Emit& e, DType dtype, Value* r0, Value* r1) {
  if (dtype == DType::Float64) {
    llvm::Type* wide = e.with_lanes_of(e.b.getInt64Ty(), r0->getType());
    Value* bits =
        e.b.CreateOr(e.b.CreateShl(e.b.CreateZExt(r0, wide), 32), e.b.CreateZExt(r1, wide));
    Value* y = e.b.CreateUIToFP(e.b.CreateLShr(bits, 11), e.with_lanes_of(e.b.getDoubleTy(), wide));
    return e.b.CreateFMul(y, e.real(y->getType(), 0x1p-53));
  }
  const unsigned kept = dtype == DType::Float16 ? 11 : dtype == DType::BFloat16 ? 8 : 24;
  // As signed numbers, which convert in one instruction: the top bit is clear.
  Value* y = e.b.CreateSIToFP(e.b.CreateLShr(r0, 32 - kept),
                              e.with_lanes_of(e.b.getFloatTy(), r0->getType()));
  return e.b.CreateFMul(y, e.real(y->getType(), std::ldexp(1.0, -static_cast<int>(kept))));
}

/// The 64-bit products of the low halves: one instruction, which does not read the high halves.
Value* low_product(const Emit& e, Value* x, std::uint32_t factor) {
  Value* low = e.b.CreateAnd(x, e.integer(x->getType(), 0xFFFFFFFFu));
  return e.b.CreateMul(low, e.integer(x->getType(), factor));
}

}  // namespace

// 32-bit words are the low halves of 64-bit lanes, in which products are computed. High halves are
// undefined: only a shift of a whole product moves a high half down. Streams 2 n and 2 n + 1 emit
// the same rounds, which LLVM merges.
Value* emit_uniform(const Emit& e, DType dtype, const DrawKeys& keys) {
  llvm::Type* wide = keys.element->getType();
  const auto high = [&](Value* v) { return e.b.CreateLShr(v, 32); };
  const auto mixed = [&](Value* product, Value* word, Value* key) {
    return e.b.CreateXor(e.b.CreateXor(high(product), word), key);
  };
  // Without high words of elements, the first two rounds compute much that all lanes share.
  Value* high_element = keys.element_is_narrow ? e.integer(wide, 0) : high(keys.element);
  Value* block = e.integer(wide, keys.stream >> 1 & 0xFFFFFFFFu);
  std::array<Value*, 4> c = {keys.element, e.b.CreateXor(high_element, keys.call_counter),
                             keys.position, e.b.CreateXor(high(keys.position), block)};
  Value *k0 = keys.seed, *k1 = high(keys.seed);
  for (int round = 0; round < kRounds; ++round) {
    Value* p0 = low_product(e, c[0], 0xD2511F53u);
    Value* p1 = low_product(e, c[2], 0xCD9E8D57u);
    c = {mixed(p1, c[1], k0), p1, mixed(p0, c[3], k1), p0};
    k0 = e.b.CreateAdd(k0, e.integer(wide, 0x9E3779B9u));
    k1 = e.b.CreateAdd(k1, e.integer(wide, 0xBB67AE85u));
  }
  llvm::Type* narrow = e.with_lanes_of(e.b.getInt32Ty(), wide);
  const std::size_t first = keys.stream % 2 == 0 ? 0 : 2;
  return to_unit(e, dtype, e.b.CreateTrunc(c[first], narrow),
                 e.b.CreateTrunc(c[first + 1], narrow));
}

}  // namespace kiln::cpu
