// Emits stages: stores at every point, reductions with accumulators in registers, prefix scans,
// ArgMax. Stages of a group share one loop.
#include "backends/cpu/llvm/scalar/emit_scalar.h"
#include "backends/cpu/llvm/kernel/stage_emitter.h"
#include "core/types/at.h"

#include <algorithm>
#include <limits>

namespace kiln::cpu {
namespace {

/// Bytes of the narrowest vector register. Lanes are combined in vectors of at least this size:
/// LLVM splits smaller ones into scalars, which for maxima pass through general registers.
constexpr int kMinBytes = 16;

}  // namespace

using namespace codegen;
using llvm::BasicBlock;
using llvm::Type;
using llvm::Value;

void StageEmitter::run_stages(StageGroup group) {
  group_ = group.first;
  const Stage& first = kernel_.stages[group.first];
  const std::vector<ExpressionId> needed = levels_.needed_by(group);
  compute(needed, kernel_.outer);
  if (!first.inner) return store_all(first);
  if (first.combiner == Combiner::ArgMax) return emit_arg_max(group.first, first, needed);
  IdVector<StageId, Value*> sums(kernel_.stages.size()), wholes(kernel_.stages.size());
  parts_.axis = schedule_.sum_parts.axis;
  for (const StageId s : group) {
    const Stage& stage = kernel_.stages[s];
    sums[s] = wholes[s] = accumulator(stage);
    if (schedule_.minmax_forms[s] == MinMaxForm::KeepsSigns)
      minmax_[s] = begin_minmax(stage, sums[s]);
    if (parts_.axis < 0 || !is_long_sum(kernel_, stage)) continue;
    wholes[s] = accumulator(stage);
    Type* type = accumulator_type(e_.register_type(dtype_of(stage.value)));
    parts_.sums.push_back({sums[s], wholes[s], type});
  }
  if (parts_.sums.empty()) parts_.axis = -1;
  const int lanes = lanes_;
  if (schedule_.is_compact && is_map(kernel_, group)) lanes_ = schedule_.register_lanes;
  const auto point = [&] {
    for (const StageId s : group) {
      if (sums[s]) combine(s, sums[s]);
      store_all(kernel_.stages[s]);
      results_[s] = nullptr;
    }
  };
  if (stores_final_row(schedule_.streams.scratch_operand)) {
    loop_from_line([&] {
      compute(needed, kernel_.outer + 1);
      point();
    });
  } else {
    inner_loops(needed, kernel_.outer, point);
  }
  lanes_ = lanes;
  for (const StageId s : group) {
    if (kernel_.stages[s].kind != StageKind::Reduce) continue;
    results_[s] = total(s, wholes[s]);
  }
  parts_ = {};
}

void StageEmitter::store_all(const Stage& stage) {
  for (const Store& one : stage.stores) store(one);
}

Type* StageEmitter::accumulator_type(Type* scalar) const {
  return lanes_ > 1 ? llvm::FixedVectorType::get(scalar, static_cast<unsigned>(lanes_)) : scalar;
}

Value* StageEmitter::accumulator(const Stage& stage) {
  if (stage.kind == StageKind::Map) return nullptr;
  const DType dtype = dtype_of(stage.value);
  Type* type = accumulator_type(e_.register_type(dtype));
  Value* sum = variable(type);
  b_.CreateStore(splat_constant(dtype, identity_bits(stage.combiner, dtype), type), sum);
  return sum;
}

void StageEmitter::combine(StageId s, Value* sum) {
  const Stage& stage = kernel_.stages[s];
  if (minmax_[s].best) return combine_minmax(stage, minmax_[s]);
  const bool runs = stage.kind == StageKind::Running;
  if (runs && lanes_ > 1 && !schedule_.lanes_are_outer) return scan_lanes(s, sum);
  const DType dtype = dtype_of(stage.value);
  Value* old = b_.CreateLoad(accumulator_type(e_.register_type(dtype)), sum);
  Value* next = combined(s, dtype, old);
  // Lanes beyond the end keep their value.
  if (mask_ && !schedule_.lanes_are_outer) next = b_.CreateSelect(mask_, next, old);
  b_.CreateStore(next, sum);
  if (!runs) return;
  results_[s] = next;
  compute(levels_.needed_by({s, s.next()}), static_cast<int>(kernel_.axes.size()));
}

void StageEmitter::scan_lanes(StageId s, Value* sum) {
  const Stage& stage = kernel_.stages[s];
  const DType dtype = dtype_of(stage.value);
  Type* type = accumulator_type(e_.register_type(dtype));
  Value* before = b_.CreateLoad(type, sum);
  Value* runs = in_lanes(stage.value);
  if (mask_) {
    Value* none = splat_constant(dtype, identity_bits(stage.combiner, dtype), type);
    runs = b_.CreateSelect(mask_, runs, none);
  }
  for (int distance = 1; distance < lanes_; distance *= 2) {
    std::vector<int> earlier(at(lanes_), -1);
    std::vector<llvm::Constant*> has_earlier(at(lanes_), b_.getFalse());
    for (int lane = distance; lane < lanes_; ++lane) {
      earlier[at(lane)] = lane - distance;
      has_earlier[at(lane)] = b_.getTrue();
    }
    Value* more = apply(stage.combiner, dtype, b_.CreateShuffleVector(runs, earlier), runs);
    runs = b_.CreateSelect(llvm::ConstantVector::get(has_earlier), more, runs);
  }
  Value* all = b_.CreateShuffleVector(runs, std::vector<int>(at(lanes_), lanes_ - 1));
  b_.CreateStore(apply(stage.combiner, dtype, before, all), sum);
  results_[s] = apply(stage.combiner, dtype, before, runs);
  compute(levels_.needed_by({s, s.next()}), static_cast<int>(kernel_.axes.size()));
}

Value* StageEmitter::total(StageId s, Value* sum) {
  if (minmax_[s].best) return end_minmax(s, minmax_[s]);
  const DType dtype = dtype_of(kernel_.stages[s].value);
  Value* lanes = b_.CreateLoad(accumulator_type(e_.register_type(dtype)), sum);
  const bool across = lanes_ > 1 && !schedule_.lanes_are_outer;
  return across ? folded(s, dtype, lanes) : lanes;
}

Value* StageEmitter::combined(StageId s, DType dtype, Value* old) {
  const Stage& stage = kernel_.stages[s];
  const Expression& x = kernel_.expressions[stage.value];
  const bool product = x.kind == ExpressionKind::Apply && x.op == ir::Op::Mul && is_float(dtype) &&
                       stage.combiner == Combiner::Sum;
  if (product && e_.target.has_fma) {
    return e_.multiply_add(in_lanes(x.arguments[0]), in_lanes(x.arguments[1]), old);
  }
  return joined(s, dtype, old, in_lanes(stage.value));
}

Value* StageEmitter::joined(StageId s, DType dtype, Value* x, Value* y) {
  if (schedule_.minmax_forms[s] != MinMaxForm::DropsNan)
    return apply(kernel_.stages[s].combiner, dtype, x, y);
  return b_.CreateSelect(b_.CreateFCmpOGT(y, x), y, x);  // x where y is NaN: one vmaxps
}

Value* StageEmitter::apply(Combiner combiner, DType dtype, Value* x, Value* y) {
  const bool truth = dtype == DType::Bool;
  ir::Op op = ir::Op::Add;
  if (combiner == Combiner::Prod) op = ir::Op::Mul;
  if (combiner == Combiner::Max) op = truth ? ir::Op::Or : ir::Op::Maximum;
  if (combiner == Combiner::Min) op = truth ? ir::Op::And : ir::Op::Minimum;
  return emit_scalar(e_, op, dtype, {x, y});
}

Value* StageEmitter::folded(StageId s, DType dtype, Value* x) {
  const int min_lanes = kMinBytes / static_cast<int>(dtype_bytes(dtype));
  for (int half = lanes_ / 2; half >= 1; half /= 2) {
    const int width = std::min(lanes_, std::max(half, min_lanes));
    std::vector<int> upper(at(width), -1), lower(at(width));
    for (int lane = 0; lane < width; ++lane) {
      lower[at(lane)] = lane;
      if (lane < half) upper[at(lane)] = lane + half;
    }
    x = joined(s, dtype, b_.CreateShuffleVector(x, lower), b_.CreateShuffleVector(x, upper));
  }
  return b_.CreateExtractElement(x, std::uint64_t{0});
}

void StageEmitter::emit_arg_max(StageId s, const Stage& stage,
                                const std::vector<ExpressionId>& needed) {
  const DType dtype = dtype_of(stage.value);
  const int axis = static_cast<int>(kernel_.axes.size()) - 1;
  // Indices that fit into 32 bits take as many lanes as float32 does.
  const ir::Dim& extent = kernel_.axes[at(axis)];
  const bool narrow = extent.is_static() && extent.value() < std::numeric_limits<int>::max();
  Type* type = accumulator_type(e_.register_type(dtype));
  Type* index_type = accumulator_type(narrow ? b_.getInt32Ty() : b_.getInt64Ty());
  Value* best = variable(type);
  Value* best_index = variable(index_type);
  b_.CreateStore(splat_constant(dtype, identity_bits(Combiner::Max, dtype), type), best);
  const unsigned bits = narrow ? 32 : 64;
  b_.CreateStore(llvm::ConstantInt::get(index_type, llvm::APInt::getSignedMaxValue(bits)),
                 best_index);
  inner_loops(needed, kernel_.outer, [&] {
    Value* x = in_lanes(stage.value);
    Value* here = b_.CreateTrunc(index_[at(axis)], index_type->getScalarType());
    if (lanes_ > 1) here = b_.CreateVectorSplat(at(lanes_), here);
    if (lanes_ > 1 && !schedule_.lanes_are_outer) {
      here = b_.CreateAdd(here, lane_numbers(index_type->getScalarType()));
    }
    Value *old = b_.CreateLoad(type, best), *old_index = b_.CreateLoad(index_type, best_index);
    Value* better = is_better(dtype, x, here, old, old_index);
    if (mask_ && !schedule_.lanes_are_outer) better = b_.CreateAnd(better, mask_);
    b_.CreateStore(b_.CreateSelect(better, x, old), best);
    b_.CreateStore(b_.CreateSelect(better, here, old_index), best_index);
    store_all(stage);
  });
  Value *values = b_.CreateLoad(type, best), *indices = b_.CreateLoad(index_type, best_index);
  if (lanes_ > 1 && !schedule_.lanes_are_outer) indices = best_lane(dtype, values, indices);
  results_[s] = b_.CreateSExt(indices, e_.with_lanes_of(b_.getInt64Ty(), indices->getType()));
}

Value* StageEmitter::best_lane(DType dtype, Value* values, Value* indices) {
  for (int half = lanes_ / 2; half >= 1; half /= 2) {
    std::vector<int> upper, lower;
    for (int lane = 0; lane < half; ++lane) {
      lower.push_back(lane);
      upper.push_back(lane + half);
    }
    Value* x = b_.CreateShuffleVector(values, lower);
    Value* here = b_.CreateShuffleVector(indices, lower);
    Value* other = b_.CreateShuffleVector(values, upper);
    Value* there = b_.CreateShuffleVector(indices, upper);
    Value* better = is_better(dtype, other, there, x, here);
    values = b_.CreateSelect(better, other, x);
    indices = b_.CreateSelect(better, there, here);
  }
  return b_.CreateExtractElement(indices, std::uint64_t{0});
}

Value* StageEmitter::is_better(DType dtype, Value* x, Value* here, Value* old, Value* old_index) {
  Value* earlier = b_.CreateICmpSLT(here, old_index);
  Value *above, *equal;
  if (is_float(dtype)) {
    Value* nan = b_.CreateFCmpUNO(x, x);
    Value* old_nan = b_.CreateFCmpUNO(old, old);
    above = b_.CreateOr(b_.CreateFCmpOGT(x, old), b_.CreateAnd(nan, b_.CreateNot(old_nan)));
    equal = b_.CreateOr(b_.CreateFCmpOEQ(x, old), b_.CreateAnd(nan, old_nan));
  } else {
    const bool is_signed = info(dtype).kind == DTypeKind::Signed;
    above = is_signed ? b_.CreateICmpSGT(x, old) : b_.CreateICmpUGT(x, old);
    equal = b_.CreateICmpEQ(x, old);
  }
  return b_.CreateOr(above, b_.CreateAnd(equal, earlier));
}

}  // namespace kiln::cpu
