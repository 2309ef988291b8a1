// Emits maximum and minimum of floats: NaN if an operand is NaN, and -0 < +0. The instruction for
// it returns its second operand if one is NaN or both are zeros, so it is emitted twice, in both
// orders: the results differ only in these cases, and their bits together give the result. LLVM's
// own code selects by signs and NaN instead, with longer chains of dependent instructions.
#include "backends/cpu/llvm/scalar/vector_math.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <bit>
#include <numeric>

namespace kiln::cpu {
namespace {

using llvm::Value;

constexpr unsigned kMinBits = 128, kMaxBits = 512;  // of a register
/// vpternlog's truth table for the majority of three bits.
constexpr std::uint32_t kMajority = 0xe8;

/// Whether LLVM's intrinsic is as short: it omits the checks that a constant number does not need.
/// A constant NaN takes the general form, so that it gives the bits that a run-time NaN gives.
bool is_simple(Value* x, Value* y) {
  const auto is_number = [](Value* value) {
    const auto* constant = llvm::dyn_cast<llvm::Constant>(value);
    return constant && !constant->isNaN();
  };
  return is_number(x) || is_number(y) || !x->getType()->isVectorTy();
}

llvm::Type* integers_of(const Emit& e, llvm::Type* floats) {
  return e.with_lanes_of(e.b.getIntNTy(floats->getScalarSizeInBits()), floats);
}

/// The bits of select(x is better than y, x, y).
Value* better_of(const Emit& e, llvm::CmpInst::Predicate is_better, Value* x, Value* y) {
  Value* chosen = e.b.CreateSelect(e.b.CreateFCmp(is_better, x, y), x, y);
  return e.b.CreateBitCast(chosen, integers_of(e, x->getType()));
}

/// vpternlog on doubles or floats.
llvm::Intrinsic::ID ternary_logic(unsigned bits, bool is_double) {
  namespace ids = llvm::Intrinsic;
  switch (bits) {
    case 128: return is_double ? ids::x86_avx512_pternlog_q_128 : ids::x86_avx512_pternlog_d_128;
    case 256: return is_double ? ids::x86_avx512_pternlog_q_256 : ids::x86_avx512_pternlog_d_256;
    case 512: return is_double ? ids::x86_avx512_pternlog_q_512 : ids::x86_avx512_pternlog_d_512;
    default: return ids::not_intrinsic;
  }
}

unsigned bits_of(Value* x) {
  return static_cast<unsigned>(x->getType()->getPrimitiveSizeInBits().getFixedValue());
}

/// Vectors of one register: AND of the signs, OR of all other bits.
Value* joined(const Emit& e, Value* x, Value* y) {
  llvm::Type* type = x->getType();
  const unsigned width = type->getScalarSizeInBits();
  Value* all_but_sign = llvm::ConstantInt::get(type, llvm::APInt::getSignedMaxValue(width));
  return e.b.CreateIntrinsic(ternary_logic(bits_of(x), width == 64), {},
                             {x, y, all_but_sign, e.b.getInt32(kMajority)});
}

/// Like `joined`, for one or several registers (a power of two).
Value* joined_parts(const Emit& e, Value* x, Value* y) {
  if (bits_of(x) <= kMaxBits) return joined(e, x, y);
  const auto lanes = llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements();
  std::vector<int> low(lanes / 2), high(lanes / 2), both(lanes);
  std::iota(low.begin(), low.end(), 0);
  std::iota(high.begin(), high.end(), static_cast<int>(lanes / 2));
  std::iota(both.begin(), both.end(), 0);
  const auto half = [&](const std::vector<int>& of) {
    return joined_parts(e, e.b.CreateShuffleVector(x, of), e.b.CreateShuffleVector(y, of));
  };
  Value* first = half(low);
  return e.b.CreateShuffleVector(first, half(high), both);
}

}  // namespace

Value* emit_maximum(const Emit& e, Value* x, Value* y) {
  if (is_simple(x, y)) return e.intrinsic(llvm::Intrinsic::maximum, {x, y});
  Value* first = better_of(e, llvm::CmpInst::FCMP_OGT, x, y);
  Value* second = better_of(e, llvm::CmpInst::FCMP_OGT, y, x);
  const bool fills_registers = std::has_single_bit(bits_of(x)) && bits_of(x) >= kMinBits;
  if (e.target.isa == Isa::Avx512 && fills_registers) {
    return e.b.CreateBitCast(joined_parts(e, first, second), x->getType());
  }
  Value* nan = e.b.CreateSExt(e.b.CreateFCmpUNO(x, y), first->getType());
  return e.b.CreateBitCast(e.b.CreateOr(e.b.CreateAnd(first, second), nan), x->getType());
}

Value* emit_minimum(const Emit& e, Value* x, Value* y) {
  if (is_simple(x, y)) return e.intrinsic(llvm::Intrinsic::minimum, {x, y});
  Value* first = better_of(e, llvm::CmpInst::FCMP_OLT, x, y);
  Value* second = better_of(e, llvm::CmpInst::FCMP_OLT, y, x);
  return e.b.CreateBitCast(e.b.CreateOr(first, second), x->getType());
}

}  // namespace kiln::cpu
