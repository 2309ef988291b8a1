// The formula builder (codegen/formulas/builder.h) that emits LLVM IR for scalars and vectors.
#pragma once

#include "backends/codegen/formulas/builder.h"
#include "backends/cpu/llvm/scalar/emit_context.h"
#include "backends/cpu/llvm/scalar/vector_lookup.h"

namespace kiln::cpu {

struct FloatLanes {
  using Value = llvm::Value*;

  /// `lanes`: float, double or a vector of them; it gives the format and the number of lanes.
  FloatLanes(const Emit& emit, llvm::Type* lanes)
      : e(emit),
        type(lanes),
        format{lanes->getScalarType()->isDoubleTy()},
        integers(e.with_lanes_of(e.b.getIntNTy(format.sign_bit() + 1), lanes)) {}

  const Emit& e;
  llvm::Type* type;
  codegen::formulas::FloatFormat format;
  llvm::Type* integers;  // as wide as the floats

  Value real(double x) const { return e.real(type, x); }
  Value nan() const { return llvm::ConstantFP::getNaN(type); }
  Value integer(std::uint64_t x) const { return e.integer(integers, x); }

  Value add(Value x, Value y) const { return e.b.CreateFAdd(x, y); }
  Value subtract(Value x, Value y) const { return e.b.CreateFSub(x, y); }
  Value multiply(Value x, Value y) const { return e.b.CreateFMul(x, y); }
  Value divide(Value x, Value y) const { return e.b.CreateFDiv(x, y); }
  bool has_fma() const { return e.target.has_fma; }
  Value multiply_add(Value x, Value y, Value z) const { return e.multiply_add(x, y, z); }
  Value negate(Value x) const { return e.b.CreateFNeg(x); }
  Value magnitude(Value x) const { return e.intrinsic(llvm::Intrinsic::fabs, {x}); }
  Value with_sign_of(Value x, Value sign) const {
    return e.intrinsic(llvm::Intrinsic::copysign, {x, sign});
  }

  Value less(Value x, Value y) const { return e.b.CreateFCmpOLT(x, y); }
  Value less_equal(Value x, Value y) const { return e.b.CreateFCmpOLE(x, y); }
  Value equal(Value x, Value y) const { return e.b.CreateFCmpOEQ(x, y); }
  Value equal_or_nan(Value x, Value y) const { return e.b.CreateFCmpUEQ(x, y); }
  Value both(Value x, Value y) const { return e.b.CreateAnd(x, y); }
  Value either(Value x, Value y) const { return e.b.CreateOr(x, y); }
  Value negation(Value x) const { return e.b.CreateNot(x); }
  Value choose(Value condition, Value x, Value y) const {
    return e.b.CreateSelect(condition, x, y);
  }

  Value bits(Value x) const { return e.b.CreateBitCast(x, integers); }
  Value from_bits(Value x) const { return e.b.CreateBitCast(x, type); }
  Value add_bits(Value x, Value y) const { return e.b.CreateAdd(x, y); }
  Value subtract_bits(Value x, Value y) const { return e.b.CreateSub(x, y); }
  Value and_bits(Value x, Value y) const { return e.b.CreateAnd(x, y); }
  Value or_bits(Value x, Value y) const { return e.b.CreateOr(x, y); }
  Value xor_bits(Value x, Value y) const { return e.b.CreateXor(x, y); }
  Value shift_left(Value x, unsigned count) const { return e.b.CreateShl(x, count); }
  Value shift_right(Value x, unsigned count) const { return e.b.CreateLShr(x, count); }
  Value shift_right_signed(Value x, unsigned count) const { return e.b.CreateAShr(x, count); }
  Value from_signed(Value x) const { return e.b.CreateSIToFP(x, type); }
  Value differs(Value x, Value y) const { return e.b.CreateICmpNE(x, y); }
  Value lowest_bit(Value x) const {
    return e.b.CreateTrunc(x, e.with_lanes_of(e.b.getInt1Ty(), type));
  }

  bool has_lookup() const { return !format.is_double && e.target.isa >= Isa::Avx2; }
  Value lookup(Value index, const codegen::formulas::LookupTable& table) const {
    return emit_lookup(e, index, table);
  }

  FloatLanes doubles() const { return {e, e.with_lanes_of(e.b.getDoubleTy(), type)}; }
  Value widen(Value x) const {
    return e.b.CreateFPExt(x, e.with_lanes_of(e.b.getDoubleTy(), type));
  }
  Value narrow(Value x) const { return e.b.CreateFPTrunc(x, type); }
};

static_assert(codegen::formulas::LookupBuilder<FloatLanes>);

}  // namespace kiln::cpu
