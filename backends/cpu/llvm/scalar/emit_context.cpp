// Emits types, constants and conversions between dtypes.
#include "backends/cpu/llvm/scalar/emit_context.h"

#include <llvm/IR/IntrinsicsX86.h>

namespace kiln::cpu {
namespace {

using llvm::Value;

bool is_half(DType dtype) { return dtype == DType::Float16 || dtype == DType::BFloat16; }

llvm::Type* bits_of(const Emit& e, Value* x) {
  const unsigned width = x->getType()->getScalarSizeInBits();
  return e.with_lanes_of(e.b.getIntNTy(width), x->getType());
}
Value* as_bits(const Emit& e, Value* x) { return e.b.CreateBitCast(x, bits_of(e, x)); }

/// x as arithmetic reads it: LLVM does not see where it is from. Otherwise it turns a comparison
/// with zero into one of bits, in which a subnormal is not zero.
Value* fenced(const Emit& e, Value* x) { return e.b.CreateArithmeticFence(x, x->getType()); }

/// Replaces subnormal float32 by zeros of their sign, by a product with 1: the control register
/// affects arithmetic, but no work on bits. (LLVM 22 has no llvm.canonicalize of two lanes.)
Value* without_subnormals(const Emit& e, Value* x) {
  return e.b.CreateFMul(x, fenced(e, e.real(x->getType(), 1)));
}

Value* widened_bfloat16(const Emit& e, Value* bits) {
  llvm::Type* type = e.with_lanes_of(e.b.getInt32Ty(), bits->getType());
  Value* wide = e.b.CreateShl(e.b.CreateZExt(bits, type), 16);
  return e.b.CreateBitCast(wide, e.with_lanes_of(e.b.getFloatTy(), bits->getType()));
}

/// The upper halves of float32 numbers that bfloat16 represents.
Value* bfloat16_bits(const Emit& e, Value* x) {
  Value* bits = as_bits(e, x);
  return e.b.CreateTrunc(e.b.CreateLShr(bits, 16),
                         e.with_lanes_of(e.b.getInt16Ty(), bits->getType()));
}

constexpr unsigned kInstructionLanes = 16;

/// round_to_bfloat16 by instructions of 16 lanes each.
Value* round_by_instructions(const Emit& e, Value* x, unsigned lanes) {
  Value* result = llvm::PoisonValue::get(x->getType());
  for (unsigned first = 0; first < lanes; first += kInstructionLanes) {
    Value* part = e.b.CreateExtractVector(
        llvm::FixedVectorType::get(e.b.getFloatTy(), kInstructionLanes), x, first);
    Value* half = e.b.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_512, {part});
    half = e.b.CreateBitCast(half, llvm::FixedVectorType::get(e.b.getInt16Ty(), kInstructionLanes));
    result = e.b.CreateInsertVector(x->getType(), result, widened_bfloat16(e, half), first);
  }
  return result;
}

/// Rounds float32 to the nearest bfloat16, ties to even; subnormals are zeros of their sign, NaN
/// stays NaN. AVX512-BF16 gives the same bits.
Value* round_to_bfloat16(const Emit& e, Value* x) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  const unsigned lanes = vector ? vector->getNumElements() : 1;
  if (e.target.has_avx512_bf16 && lanes % kInstructionLanes == 0) {
    return round_by_instructions(e, x, lanes);
  }
  x = without_subnormals(e, x);
  Value* bits = as_bits(e, x);
  llvm::Type* type = bits->getType();
  Value* odd = e.b.CreateAnd(e.b.CreateLShr(bits, 16), e.integer(type, 1));
  Value* up = e.b.CreateAdd(e.b.CreateAdd(bits, e.integer(type, 0x7fff)), odd);
  Value* nan = e.b.CreateOr(bits, e.integer(type, 0x400000));
  Value* kept = e.b.CreateSelect(e.b.CreateFCmpUNO(x, x), nan, up);
  return e.b.CreateBitCast(e.b.CreateAnd(kept, e.integer(type, 0xffff0000u)), x->getType());
}

/// Converts float16 bits to float32: normal numbers by a shift and a new exponent bias, small ones
/// by a subtraction.
Value* from_float16(const Emit& e, Value* half) {
  if (e.target.has_f16c) {
    Value* x = e.b.CreateBitCast(half, e.with_lanes_of(e.b.getHalfTy(), half->getType()));
    return e.b.CreateFPExt(x, e.with_lanes_of(e.b.getFloatTy(), half->getType()));
  }
  llvm::Type* type = e.with_lanes_of(e.b.getInt32Ty(), half->getType());
  llvm::Type* floats = e.with_lanes_of(e.b.getFloatTy(), half->getType());
  Value* wide = e.b.CreateZExt(half, type);
  Value* sign = e.b.CreateShl(e.b.CreateAnd(wide, e.integer(type, 0x8000)), 16);
  Value* magnitude = e.b.CreateShl(e.b.CreateAnd(wide, e.integer(type, 0x7fff)), 13);
  Value* exponent = e.b.CreateAnd(magnitude, e.integer(type, 0x0f800000));
  Value* normal = e.b.CreateAdd(magnitude, e.integer(type, 112u << 23));
  Value* special = e.b.CreateAdd(normal, e.integer(type, 112u << 23));
  Value* shifted = e.b.CreateAdd(normal, e.integer(type, 1u << 23));
  Value* small = e.b.CreateFSub(e.b.CreateBitCast(shifted, floats), e.real(floats, 0x1p-14));
  Value* bits = e.b.CreateSelect(e.b.CreateICmpEQ(exponent, e.integer(type, 0x0f800000)), special,
                                 e.b.CreateSelect(e.b.CreateICmpEQ(exponent, e.integer(type, 0)),
                                                  e.b.CreateBitCast(small, type), normal));
  return e.b.CreateBitCast(e.b.CreateOr(bits, sign), floats);
}

/// Converts float32 to float16 bits, to nearest even.
Value* to_float16(const Emit& e, Value* x) {
  if (e.target.has_f16c) {
    Value* half = e.b.CreateFPTrunc(x, e.with_lanes_of(e.b.getHalfTy(), x->getType()));
    return e.b.CreateBitCast(half, e.with_lanes_of(e.b.getInt16Ty(), x->getType()));
  }
  Value* bits = as_bits(e, x);
  llvm::Type* type = bits->getType();
  llvm::Type* floats = x->getType();
  Value* sign = e.b.CreateAnd(bits, e.integer(type, 0x80000000u));
  Value* magnitude = e.b.CreateXor(bits, sign);
  // Results below the smallest normal float16 are rounded by adding 2^-1, which aligns the
  // mantissa.
  Value* aligned = e.b.CreateFAdd(e.b.CreateBitCast(magnitude, floats), e.real(floats, 0.5));
  Value* small = e.b.CreateSub(e.b.CreateBitCast(aligned, type), e.integer(type, 0x3f000000));
  Value* odd = e.b.CreateAnd(e.b.CreateLShr(magnitude, 13), e.integer(type, 1));
  Value* biased = e.b.CreateAdd(magnitude, e.integer(type, 0xfffu - (112u << 23)));
  Value* normal = e.b.CreateLShr(e.b.CreateAdd(biased, odd), 13);
  Value* is_small = e.b.CreateICmpULT(magnitude, e.integer(type, 113u << 23));
  Value* overflows = e.b.CreateICmpUGE(magnitude, e.integer(type, 0x477ff000));
  Value* is_nan = e.b.CreateICmpUGT(magnitude, e.integer(type, 0x7f800000));
  Value* kept = e.b.CreateSelect(is_small, small, normal);
  kept = e.b.CreateSelect(overflows, e.integer(type, 0x7c00), kept);
  kept = e.b.CreateSelect(is_nan, e.integer(type, 0x7e00), kept);
  kept = e.b.CreateOr(kept, e.b.CreateLShr(sign, 16));
  return e.b.CreateTrunc(kept, e.with_lanes_of(e.b.getInt16Ty(), type));
}

/// Rounds float64 to float32 to odd: an inexact result gets an odd last bit, so that rounding it
/// again to fewer bits is correct (no double rounding).
Value* to_odd_float32(const Emit& e, Value* x) {
  llvm::Type* floats = e.with_lanes_of(e.b.getFloatTy(), x->getType());
  Value* near = e.b.CreateFPTrunc(x, floats);
  Value* back = e.b.CreateFPExt(near, x->getType());
  Value* bits = as_bits(e, near);
  llvm::Type* type = bits->getType();
  Value* above = e.b.CreateFCmpOGT(e.intrinsic(llvm::Intrinsic::fabs, {back}),
                                   e.intrinsic(llvm::Intrinsic::fabs, {x}));
  Value* below = e.b.CreateSub(bits, e.b.CreateZExt(above, type));
  Value* odd = e.b.CreateOr(below, e.integer(type, 1));
  Value* inexact = e.b.CreateFCmpONE(back, x);
  return e.b.CreateBitCast(e.b.CreateSelect(inexact, odd, bits), floats);
}

Value* float_to_integer(const Emit& e, DType to, Value* x) {
  llvm::Type* type = e.with_lanes_of(e.register_type(to), x->getType());
  const bool is_signed = info(to).kind == DTypeKind::Signed;
  const auto id = is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  return e.b.CreateIntrinsic(id, {type, x->getType()}, {x});
}

/// Rounds an int64 or uint64 to odd to a multiple of 2^11, where that makes it exact in float64:
/// below -2^53 and from 2^53 on.
Value* to_odd_multiple(const Emit& e, bool is_signed, Value* x) {
  llvm::Type* type = x->getType();
  Value* low = e.b.CreateAnd(x, e.integer(type, 0x7ff));
  Value* odd = e.b.CreateSelect(e.b.CreateICmpNE(low, e.integer(type, 0)), e.integer(type, 0x800),
                                e.integer(type, 0));
  Value* multiple = e.b.CreateOr(e.b.CreateXor(x, low), odd);
  Value* shifted = is_signed ? e.b.CreateAdd(x, e.integer(type, 1ull << 53)) : x;
  Value* is_exact = e.b.CreateICmpULT(shifted, e.integer(type, 1ull << (is_signed ? 54 : 53)));
  return e.b.CreateSelect(is_exact, x, multiple);
}

Value* integer_to_float(const Emit& e, DType from, DType to, Value* x) {
  const bool is_signed = info(from).kind == DTypeKind::Signed;
  const auto make = [&](llvm::Type* scalar) {
    llvm::Type* type = e.with_lanes_of(scalar, x->getType());
    return is_signed ? e.b.CreateSIToFP(x, type) : e.b.CreateUIToFP(x, type);
  };
  if (!is_half(to)) return make(e.register_type(to));
  if (dtype_bytes(from) == 8) x = to_odd_multiple(e, is_signed, x);
  return rounded(e, to, to_odd_float32(e, make(e.b.getDoubleTy())));
}

}  // namespace

llvm::Type* Emit::register_type(DType dtype) const {
  if (dtype == DType::Bool) return b.getInt1Ty();
  if (dtype == DType::Float64) return b.getDoubleTy();
  if (is_float(dtype)) return b.getFloatTy();
  return b.getIntNTy(static_cast<unsigned>(8 * dtype_bytes(dtype)));
}

llvm::Type* Emit::memory_type(DType dtype) const {
  if (dtype == DType::Float32 || dtype == DType::Float64) return register_type(dtype);
  return b.getIntNTy(static_cast<unsigned>(8 * dtype_bytes(dtype)));
}

llvm::Type* Emit::with_lanes_of(llvm::Type* scalar, llvm::Type* like) const {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like);
  return vector ? llvm::FixedVectorType::get(scalar, vector->getNumElements()) : scalar;
}

Value* Emit::real(llvm::Type* type, double value) const {
  return llvm::ConstantFP::get(type, value);
}
Value* Emit::integer(llvm::Type* type, std::uint64_t value) const {
  return llvm::ConstantInt::get(type, value);
}

Value* Emit::intrinsic(llvm::Intrinsic::ID id, std::initializer_list<Value*> x) const {
  return b.CreateIntrinsic(id, {(*x.begin())->getType()}, x);
}

Value* Emit::multiply_add(Value* x, Value* y, Value* z) const {
  if (target.has_fma) return intrinsic(llvm::Intrinsic::fma, {x, y, z});
  return b.CreateFAdd(b.CreateFMul(x, y), z);
}

Value* Emit::per_lane(const char* symbol, llvm::ArrayRef<Value*> arguments) const {
  llvm::Type* type = arguments[0]->getType();
  llvm::Type* scalar = type->getScalarType();
  const std::vector<llvm::Type*> parameters(arguments.size(), scalar);
  llvm::FunctionCallee callee =
      module.getOrInsertFunction(symbol, llvm::FunctionType::get(scalar, parameters, false));
  // Otherwise LLVM calls another function for some arguments, such as exp2 for pow with base 2.
  llvm::cast<llvm::Function>(callee.getCallee())->addFnAttr(llvm::Attribute::NoBuiltin);
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (!vector) return b.CreateCall(callee, arguments);
  Value* result = llvm::PoisonValue::get(type);
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
    std::vector<Value*> scalars;
    for (Value* x : arguments) scalars.push_back(b.CreateExtractElement(x, lane));
    result = b.CreateInsertElement(result, b.CreateCall(callee, scalars), lane);
  }
  return result;
}

Value* from_memory(const Emit& e, DType dtype, Value* x) {
  if (dtype == DType::Bool) return e.b.CreateICmpNE(x, e.integer(x->getType(), 0));
  if (dtype == DType::Float16) return from_float16(e, x);
  if (dtype != DType::BFloat16) return x;
  return fenced(e, widened_bfloat16(e, x));
}

Value* to_memory(const Emit& e, DType dtype, Value* x) {
  if (dtype == DType::Bool) {
    return e.b.CreateZExt(x, e.with_lanes_of(e.b.getInt8Ty(), x->getType()));
  }
  if (dtype == DType::Float16) return to_float16(e, x);
  if (dtype == DType::BFloat16) return bfloat16_bits(e, x);
  return x;
}

Value* rounded(const Emit& e, DType dtype, Value* x) {
  if (dtype == DType::BFloat16) return round_to_bfloat16(e, x);
  return dtype == DType::Float16 ? from_memory(e, dtype, to_memory(e, dtype, x)) : x;
}

Value* converted(const Emit& e, DType from, DType to, Value* x) {
  if (from == to) return x;
  if (to == DType::Bool) {
    return is_float(from) ? e.b.CreateFCmpUNE(x, e.real(x->getType(), 0))
                          : e.b.CreateICmpNE(x, e.integer(x->getType(), 0));
  }
  if (is_float(from) && is_float(to)) {
    if (to == DType::Float64)
      return e.b.CreateFPExt(x, e.with_lanes_of(e.b.getDoubleTy(), x->getType()));
    if (from != DType::Float64) return rounded(e, to, x);
    if (to == DType::Float32) {
      return e.b.CreateFPTrunc(x, e.with_lanes_of(e.b.getFloatTy(), x->getType()));
    }
    return rounded(e, to, to_odd_float32(e, x));
  }
  if (is_float(from)) return float_to_integer(e, to, x);
  if (is_float(to)) return integer_to_float(e, from, to, x);
  llvm::Type* type = e.with_lanes_of(e.register_type(to), x->getType());
  const bool is_signed = info(from).kind == DTypeKind::Signed;
  return is_signed ? e.b.CreateSExtOrTrunc(x, type) : e.b.CreateZExtOrTrunc(x, type);
}

Value* bitcast(const Emit& e, DType from, DType to, Value* x) {
  Value* bits = to_memory(e, from, x);
  Value* y = e.b.CreateBitCast(bits, e.with_lanes_of(e.memory_type(to), bits->getType()));
  const bool is_new_float = is_float(to) && !is_half(to) && !is_float(from);
  return is_new_float ? fenced(e, y) : from_memory(e, to, y);
}

}  // namespace kiln::cpu
