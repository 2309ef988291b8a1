// One row per op with three emitters: floats, signed and unsigned integers (bool is unsigned). An
// elementwise op of the op table without a row fails the build.
#include "backends/cpu/llvm/scalar/emit_scalar.h"

#include "backends/cpu/llvm/scalar/vector_math.h"
#include "core/ops/table.h"

#include <cmath>

namespace kiln::cpu {
namespace {

using ir::Op;
using llvm::Intrinsic::ID;
using llvm::Value;
using Values = llvm::ArrayRef<Value*>;
using Emitter = Value* (*)(const Emit& e, Values x);

struct Row {
  Op op;
  Emitter floating = nullptr, signed_integer = nullptr, unsigned_integer = nullptr;
};

Value* zero_like(Value* x) { return llvm::Constant::getNullValue(x->getType()); }
Value* ones_like(Value* x) { return llvm::Constant::getAllOnesValue(x->getType()); }

template <ID kId>
Value* by_intrinsic(const Emit& e, Values x) {
  if (x.size() == 1) return e.intrinsic(kId, {x[0]});
  return e.intrinsic(kId, {x[0], x[1]});
}
template <llvm::Instruction::BinaryOps kOp>
Value* by_instruction(const Emit& e, Values x) {
  return e.b.CreateBinOp(kOp, x[0], x[1]);
}
template <llvm::CmpInst::Predicate kPredicate>
Value* by_comparison(const Emit& e, Values x) {
  return e.b.CreateCmp(kPredicate, x[0], x[1]);
}
template <Value* (*kFunction)(const Emit&, Value*)>
Value* by_math(const Emit& e, Values x) {
  return kFunction(e, x[0]);
}

template <Value* (*kFunction)(const Emit&, Value*, Value*)>
Value* by_math(const Emit& e, Values x) {
  return kFunction(e, x[0], x[1]);
}

Value* negated(const Emit& e, Values x) { return e.b.CreateFNeg(x[0]); }
Value* integer_negated(const Emit& e, Values x) { return e.b.CreateNeg(x[0]); }
Value* unchanged(const Emit&, Values x) { return x[0]; }

Value* absolute(const Emit& e, Values x) {
  return e.b.CreateSelect(e.b.CreateICmpSLT(x[0], zero_like(x[0])), e.b.CreateNeg(x[0]), x[0]);
}

Value* float_sign(const Emit& e, Values x) {
  Value* zero = zero_like(x[0]);
  Value* below = e.b.CreateSelect(e.b.CreateFCmpOLT(x[0], zero), e.real(x[0]->getType(), -1), x[0]);
  return e.b.CreateSelect(e.b.CreateFCmpOGT(x[0], zero), e.real(x[0]->getType(), 1), below);
}
Value* signed_sign(const Emit& e, Values x) {
  Value* zero = zero_like(x[0]);
  Value* positive = e.b.CreateZExt(e.b.CreateICmpSGT(x[0], zero), x[0]->getType());
  return e.b.CreateOr(positive, e.b.CreateSExt(e.b.CreateICmpSLT(x[0], zero), x[0]->getType()));
}
Value* unsigned_sign(const Emit& e, Values x) {
  return e.b.CreateZExt(e.b.CreateICmpNE(x[0], zero_like(x[0])), x[0]->getType());
}

/// Returns a divisor for which the division instruction does not trap: 1 instead of 0 (and of -1 if
/// signed).
Value* safe_divisor(const Emit& e, Value* y, bool is_signed) {
  Value* odd = e.b.CreateICmpEQ(y, zero_like(y));
  if (is_signed) odd = e.b.CreateOr(odd, e.b.CreateICmpEQ(y, ones_like(y)));
  return e.b.CreateSelect(odd, e.integer(y->getType(), 1), y);
}
/// Whether to divide lanes as floats, which have vector instructions: integers of at most 32 bits.
/// The quotient of n-bit integers is below the next integer by at least 2^-n of itself, so that
/// rounding it to more than n bits never reaches that integer. A constant divisor is left to LLVM,
/// which multiplies.
bool divides_as_floats(Value* x, Value* divisor) {
  return x->getType()->isVectorTy() && x->getType()->getScalarSizeInBits() <= 32 &&
         !llvm::isa<llvm::Constant>(divisor);
}
/// REQUIRES: a safe divisor.
Value* truncated_quotient(const Emit& e, Value* x, Value* divisor, bool is_signed) {
  if (!divides_as_floats(x, divisor)) {
    return is_signed ? e.b.CreateSDiv(x, divisor) : e.b.CreateUDiv(x, divisor);
  }
  const bool is_wide = x->getType()->getScalarSizeInBits() > 16;
  llvm::Type* scalar = is_wide ? e.b.getDoubleTy() : e.b.getFloatTy();
  llvm::Type* floats = e.with_lanes_of(scalar, x->getType());
  const auto converted = [&](Value* v) {
    return is_signed ? e.b.CreateSIToFP(v, floats) : e.b.CreateUIToFP(v, floats);
  };
  Value* quotient = e.b.CreateFDiv(converted(x), converted(divisor));
  return is_signed ? e.b.CreateFPToSI(quotient, x->getType())
                   : e.b.CreateFPToUI(quotient, x->getType());
}
Value* truncated_remainder(const Emit& e, Value* x, Value* divisor, bool is_signed) {
  if (divides_as_floats(x, divisor)) {
    Value* quotient = truncated_quotient(e, x, divisor, is_signed);
    return e.b.CreateSub(x, e.b.CreateMul(quotient, divisor));
  }
  return is_signed ? e.b.CreateSRem(x, divisor) : e.b.CreateURem(x, divisor);
}
Value* signed_quotient(const Emit& e, Values x) {
  Value* quotient = truncated_quotient(e, x[0], safe_divisor(e, x[1], true), true);
  quotient =
      e.b.CreateSelect(e.b.CreateICmpEQ(x[1], ones_like(x[1])), e.b.CreateNeg(x[0]), quotient);
  return e.b.CreateSelect(e.b.CreateICmpEQ(x[1], zero_like(x[1])), zero_like(x[1]), quotient);
}
Value* unsigned_quotient(const Emit& e, Values x) {
  Value* quotient = truncated_quotient(e, x[0], safe_divisor(e, x[1], false), false);
  return e.b.CreateSelect(e.b.CreateICmpEQ(x[1], zero_like(x[1])), zero_like(x[1]), quotient);
}
/// x mod 1 is 0, which is also the result for divisors 0 and -1.
Value* signed_remainder(const Emit& e, Values x) {
  return truncated_remainder(e, x[0], safe_divisor(e, x[1], true), true);
}
Value* unsigned_remainder(const Emit& e, Values x) {
  return truncated_remainder(e, x[0], safe_divisor(e, x[1], false), false);
}

/// Runtime functions: the op's own meaning in 64 bits.
std::int64_t signed_power_of(std::int64_t x, std::int64_t y) { return ir::meaning::Pow()(x, y); }
std::uint64_t unsigned_power_of(std::uint64_t x, std::uint64_t y) {
  return ir::meaning::Pow()(x, y);
}
Value* emit_signed_power(const Emit& e, Values x) {
  llvm::Type* wide = e.with_lanes_of(e.b.getInt64Ty(), x[0]->getType());
  Value* y =
      e.per_lane("kiln_signed_power", {e.b.CreateSExt(x[0], wide), e.b.CreateSExt(x[1], wide)});
  return e.b.CreateTrunc(y, x[0]->getType());
}
Value* emit_unsigned_power(const Emit& e, Values x) {
  llvm::Type* wide = e.with_lanes_of(e.b.getInt64Ty(), x[0]->getType());
  Value* y =
      e.per_lane("kiln_unsigned_power", {e.b.CreateZExt(x[0], wide), e.b.CreateZExt(x[1], wide)});
  return e.b.CreateTrunc(y, x[0]->getType());
}

/// Keeps LLVM from turning a select of a loaded vector into a masked load, which has to wait for
/// the condition: its cache miss would follow the condition's instead of overlapping it.
Value* unmasked(const Emit& e, Value* x) {
  const bool is_loaded = llvm::isa<llvm::LoadInst>(x) && x->getType()->isVectorTy();
  return is_loaded ? e.b.CreateFreeze(x) : x;
}
Value* choice(const Emit& e, Values x) {
  return e.b.CreateSelect(x[0], unmasked(e, x[1]), unmasked(e, x[2]));
}
Value* inverted(const Emit& e, Values x) { return e.b.CreateNot(x[0]); }

Value* pow_of(const Emit& e, Values x) { return emit_pow(e, x[0], x[1]); }
Value* fmod_of(const Emit& e, Values x) {
  return emit_library_call(e, x[0]->getType()->getScalarType()->isDoubleTy() ? "fmod" : "fmodf", x);
}

using Binary = llvm::Instruction;
using Compare = llvm::CmpInst;

constexpr Row kRows[] = {
    {Op::Neg, negated, integer_negated, integer_negated},
    {Op::Abs, by_intrinsic<llvm::Intrinsic::fabs>, absolute, unchanged},
    {Op::Sign, float_sign, signed_sign, unsigned_sign},
    {Op::Floor, by_intrinsic<llvm::Intrinsic::floor>},
    {Op::Round, by_intrinsic<llvm::Intrinsic::roundeven>},
    {Op::Exp, by_math<emit_exp>},
    {Op::Expm1, by_math<emit_expm1>},
    {Op::Log, by_math<emit_log>},
    {Op::Log1p, by_math<emit_log1p>},
    {Op::Sqrt, by_intrinsic<llvm::Intrinsic::sqrt>},
    {Op::Sin, by_math<emit_sin>},
    {Op::Cos, by_math<emit_cos>},
    {Op::Tanh, by_math<emit_tanh>},
    {Op::Sigmoid, by_math<emit_sigmoid>},
    {Op::Erf, by_math<emit_erf>},
    {Op::Atan, by_math<emit_atan>},
    {Op::Not, nullptr, inverted, inverted},
    {Op::Add, by_instruction<Binary::FAdd>, by_instruction<Binary::Add>,
     by_instruction<Binary::Add>},
    {Op::Sub, by_instruction<Binary::FSub>, by_instruction<Binary::Sub>,
     by_instruction<Binary::Sub>},
    {Op::Mul, by_instruction<Binary::FMul>, by_instruction<Binary::Mul>,
     by_instruction<Binary::Mul>},
    {Op::Div, by_instruction<Binary::FDiv>, signed_quotient, unsigned_quotient},
    {Op::Mod, fmod_of, signed_remainder, unsigned_remainder},
    {Op::Pow, pow_of, emit_signed_power, emit_unsigned_power},
    {Op::Maximum, by_math<emit_maximum>, by_intrinsic<llvm::Intrinsic::smax>,
     by_intrinsic<llvm::Intrinsic::umax>},
    {Op::Minimum, by_math<emit_minimum>, by_intrinsic<llvm::Intrinsic::smin>,
     by_intrinsic<llvm::Intrinsic::umin>},
    {Op::Equal, by_comparison<Compare::FCMP_OEQ>, by_comparison<Compare::ICMP_EQ>,
     by_comparison<Compare::ICMP_EQ>},
    {Op::Less, by_comparison<Compare::FCMP_OLT>, by_comparison<Compare::ICMP_SLT>,
     by_comparison<Compare::ICMP_ULT>},
    {Op::LessEqual, by_comparison<Compare::FCMP_OLE>, by_comparison<Compare::ICMP_SLE>,
     by_comparison<Compare::ICMP_ULE>},
    {Op::And, nullptr, by_instruction<Binary::And>, by_instruction<Binary::And>},
    {Op::Or, nullptr, by_instruction<Binary::Or>, by_instruction<Binary::Or>},
    {Op::BitAnd, nullptr, by_instruction<Binary::And>, by_instruction<Binary::And>},
    {Op::BitOr, nullptr, by_instruction<Binary::Or>, by_instruction<Binary::Or>},
    {Op::BitXor, nullptr, by_instruction<Binary::Xor>, by_instruction<Binary::Xor>},
    {Op::Select, choice, choice, choice},
};

constexpr const Row* row_of(Op op) {
  for (const Row& row : kRows) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

constexpr bool runs(const ir::OpDef& d) { return !has_scalar_meaning(d) || row_of(d.op); }
static_assert(ir::every_op(runs), "an elementwise op has no row in emit_scalar.cpp");

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

Value* emit_scalar(const Emit& e, Op op, DType dtype, Values x) {
  const Row& row = *row_of(op);
  if (is_float(dtype)) return row.floating(e, x);
  return info(dtype).kind == DTypeKind::Signed ? row.signed_integer(e, x)
                                               : row.unsigned_integer(e, x);
}

std::vector<RuntimeSymbol> scalar_symbols() {
  using UnaryFloat32 = float(float);
  using UnaryFloat64 = double(double);
  using BinaryFloat32 = float(float, float);
  using BinaryFloat64 = double(double, double);
  std::vector<RuntimeSymbol> symbols = {
      {"kiln_signed_power", address(signed_power_of)},
      {"kiln_unsigned_power", address(unsigned_power_of)},
      {"fmodf", address<BinaryFloat32>(::fmodf)},
      {"fmod", address<BinaryFloat64>(::fmod)},
      // Called by generated code where the ISA has no instruction.
      {"floorf", address<UnaryFloat32>(::floorf)},
      {"floor", address<UnaryFloat64>(::floor)},
      {"roundevenf", address<UnaryFloat32>(::roundevenf)},
      {"roundeven", address<UnaryFloat64>(::roundeven)},
  };
  for (const RuntimeSymbol& symbol : vector_math_symbols()) symbols.push_back(symbol);
  return symbols;
}

}  // namespace kiln::cpu
