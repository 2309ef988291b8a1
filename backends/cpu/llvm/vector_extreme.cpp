// The larger and the smaller of two floats; NaN when one is, and -0 lies below +0. AVX-512 has an
// instruction for all of that but NaN, which LLVM does not choose by itself.
#include "backends/cpu/llvm/vector_math.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <numeric>

namespace kiln::cpu {
namespace {

using llvm::Value;

constexpr unsigned kVectorBits = 512;
/// What the instruction is asked for: the comparison in the low two bits, then whose sign: that of
/// the result.
constexpr int kSmaller = 4, kLarger = 5;
constexpr int kRoundAsSet = 4;

/// Of vectors of that very size.
Value* range_of(const Emit& e, int which, Value* x, Value* y) {
  llvm::Type* type = x->getType();
  const bool wide = type->getScalarType()->isDoubleTy();
  const auto id = wide ? llvm::Intrinsic::x86_avx512_mask_range_pd_512
                       : llvm::Intrinsic::x86_avx512_mask_range_ps_512;
  Value* all = llvm::ConstantInt::getAllOnesValue(wide ? e.b.getInt8Ty() : e.b.getInt16Ty());
  return e.b.CreateIntrinsic(id, {}, {x, y, e.b.getInt32(static_cast<std::uint32_t>(which)),
                                      llvm::Constant::getNullValue(type), all,
                                      e.b.getInt32(kRoundAsSet)});
}

/// Of vectors of one or several times that size.
Value* range_of_parts(const Emit& e, int which, Value* x, Value* y, unsigned parts) {
  if (parts == 1) return range_of(e, which, x, y);
  const auto lanes = llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements();
  std::vector<int> low(lanes / 2), high(lanes / 2);
  std::iota(low.begin(), low.end(), 0);
  std::iota(high.begin(), high.end(), static_cast<int>(lanes / 2));
  const auto half = [&](const std::vector<int>& of) {
    return range_of_parts(e, which, e.b.CreateShuffleVector(x, of),
                          e.b.CreateShuffleVector(y, of), parts / 2);
  };
  Value* first = half(low);
  std::vector<int> both(lanes);
  std::iota(both.begin(), both.end(), 0);
  return e.b.CreateShuffleVector(first, half(high), both);
}

Value* emit_extreme(const Emit& e, llvm::Intrinsic::ID id, int which, Value* x, Value* y) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  const unsigned bits = type ? type->getNumElements() * type->getScalarSizeInBits() : 0;
  const unsigned parts = bits / kVectorBits;
  const bool fits = bits != 0 && bits % kVectorBits == 0 && (parts & (parts - 1)) == 0;
  if (e.target.level != IsaLevel::Avx512 || !fits) return e.intrinsic(id, {x, y});
  Value* found = range_of_parts(e, which, x, y, parts);
  return e.b.CreateSelect(e.b.CreateFCmpUNO(x, y), e.b.CreateFAdd(x, y), found);
}

}  // namespace

Value* emit_maximum(const Emit& e, Value* x, Value* y) {
  return emit_extreme(e, llvm::Intrinsic::maximum, kLarger, x, y);
}

Value* emit_minimum(const Emit& e, Value* x, Value* y) {
  return emit_extreme(e, llvm::Intrinsic::minimum, kSmaller, x, y);
}

}  // namespace kiln::cpu
