// Emits maximum and minimum reductions of floats along lanes. Each step is one vmaxps or vminps,
// which drops NaN and either of two zeros. The loop therefore also accumulates whether an element
// was NaN, and the AND (for a minimum: OR) of all signs, which is the sign of a result of 0.
#include "backends/cpu/llvm/kernel/stage_emitter.h"

namespace kiln::cpu {

using namespace codegen;
using llvm::Type;
using llvm::Value;

StageEmitter::MinMax StageEmitter::begin_minmax(const Stage& stage, Value* best) {
  Type* scalar = e_.register_type(dtype_of(stage.value));
  Type* integer = b_.getIntNTy(scalar->getScalarSizeInBits());
  Type* all = accumulator_type(integer);
  Type* half = llvm::FixedVectorType::get(integer, static_cast<unsigned>(lanes_ / 2));
  const MinMax so_far{
      .best = best, .sign = variable(all), .nan = variable(half), .all = all, .half = half};
  const bool is_max = stage.combiner == Combiner::Max;
  b_.CreateStore(is_max ? llvm::Constant::getAllOnesValue(all) : llvm::Constant::getNullValue(all),
                 so_far.sign);
  b_.CreateStore(llvm::Constant::getNullValue(half), so_far.nan);
  return so_far;
}

void StageEmitter::combine_minmax(const Stage& stage, const MinMax& so_far) {
  const bool is_max = stage.combiner == Combiner::Max;
  const DType dtype = dtype_of(stage.value);
  Value* x = in_lanes(stage.value);
  if (mask_) {  // lanes beyond the end change nothing
    x = b_.CreateSelect(mask_, x,
                        splat_constant(dtype, identity_bits(stage.combiner, dtype), x->getType()));
  }
  Value* best = b_.CreateLoad(x->getType(), so_far.best);
  Value* stays = is_max ? b_.CreateFCmpOGT(best, x) : b_.CreateFCmpOLT(best, x);
  b_.CreateStore(b_.CreateSelect(stays, best, x), so_far.best);
  Value* bits = b_.CreateBitCast(x, so_far.all);
  Value* sign = b_.CreateLoad(so_far.all, so_far.sign);
  b_.CreateStore(is_max ? b_.CreateAnd(sign, bits) : b_.CreateOr(sign, bits), so_far.sign);
  std::vector<int> lower, upper;
  for (int lane = 0; lane < lanes_ / 2; ++lane) {
    lower.push_back(lane);
    upper.push_back(lane + lanes_ / 2);
  }
  Value* nan = b_.CreateFCmpUNO(b_.CreateShuffleVector(x, lower), b_.CreateShuffleVector(x, upper));
  Value* before = b_.CreateLoad(so_far.half, so_far.nan);
  b_.CreateStore(b_.CreateOr(before, b_.CreateSExt(nan, so_far.half)), so_far.nan);
}

Value* StageEmitter::end_minmax(StageId s, const MinMax& so_far) {
  const Stage& stage = kernel_.stages[s];
  const DType dtype = dtype_of(stage.value);
  Type* type = e_.register_type(dtype);
  Value* best = folded(s, dtype, b_.CreateLoad(accumulator_type(type), so_far.best));
  Value* signs = b_.CreateLoad(so_far.all, so_far.sign);
  Value* sign =
      stage.combiner == Combiner::Max ? b_.CreateAndReduce(signs) : b_.CreateOrReduce(signs);
  Value* one_bit = llvm::ConstantInt::get(
      sign->getType(), llvm::APInt::getSignMask(sign->getType()->getScalarSizeInBits()));
  Value* zero = b_.CreateBitCast(b_.CreateAnd(sign, one_bit), type);
  Value* is_zero = b_.CreateFCmpOEQ(best, llvm::Constant::getNullValue(type));
  Value* nan = b_.CreateOrReduce(b_.CreateLoad(so_far.half, so_far.nan));
  Value* number = b_.CreateSelect(is_zero, zero, best);
  return b_.CreateSelect(b_.CreateIsNotNull(nan), llvm::ConstantFP::getNaN(type), number);
}

}  // namespace kiln::cpu
