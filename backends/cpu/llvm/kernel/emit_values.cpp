// Emits the values of expressions, each in the innermost loop that it depends on.
#include "backends/codegen/kernel/kernel_key.h"
#include "backends/cpu/llvm/kernel/loop_emitter.h"
#include "backends/cpu/llvm/scalar/emit_random.h"
#include "backends/cpu/llvm/scalar/emit_scalar.h"
#include "backends/cpu/llvm/scalar/vector_math.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::cpu {

using namespace codegen;
using llvm::Type;
using llvm::Value;

void LoopEmitter::compute(const std::vector<ExpressionId>& list, int level) {
  for (const ExpressionId i : list) {
    if (values_[i] || levels_.level(i) > level || !is_ready(i)) continue;
    values_[i] = value_of(i);
    computed_.push_back(i);
  }
}

bool LoopEmitter::is_ready(ExpressionId i) const {
  const Expression& x = kernel_.expressions[i];
  if (x.kind == ExpressionKind::StageResult) return results_[x.stage] != nullptr;
  if (x.kind == ExpressionKind::Load) {
    const Access& access = kernel_.accesses[x.access];
    for (const ExpressionId other : {access.dynamic, access.when}) {
      if (other && !values_[other]) return false;
    }
  }
  return std::all_of(x.arguments.begin(), x.arguments.end(),
                     [&](ExpressionId argument) { return !argument || values_[argument]; });
}

void LoopEmitter::forget(std::size_t mark) {
  while (computed_.size() > mark) {
    values_[computed_.back()] = nullptr;
    computed_.pop_back();
  }
}

Value* LoopEmitter::splat_constant(DType dtype, std::uint64_t bits, Type* type) {
  Type* memory = e_.memory_type(dtype);
  const unsigned width = memory->getScalarSizeInBits();
  llvm::Constant* raw =
      llvm::ConstantInt::get(b_.getIntNTy(width), llvm::APInt(width, bits, false, true));
  Value* scalar = from_memory(e_, dtype, b_.CreateBitCast(raw, memory));
  return type->isVectorTy() ? b_.CreateVectorSplat(at(lanes_), scalar) : scalar;
}

Value* LoopEmitter::in_lanes(ExpressionId expression) {
  Value* x = values_[expression];
  return in_vector() ? splat(x) : x;
}

Value* LoopEmitter::axis_index(int axis) {
  Value* index = index_[at(axis)];
  if (in_row_block() && axis >= row_axis()) {
    Value* lanes = constant_lanes(indices_of_lanes(axis));
    return b_.CreateAdd(b_.CreateVectorSplat(at(lanes_), index), lanes);
  }
  if (axis != kernel_.vector_axis || !in_vector()) return index;
  return b_.CreateAdd(b_.CreateVectorSplat(at(lanes_), index), lane_numbers(b_.getInt64Ty()));
}

Value* LoopEmitter::value_of(ExpressionId expression) {
  const Expression& x = kernel_.expressions[expression];
  switch (x.kind) {
    case ExpressionKind::Constant: return constant(x);
    case ExpressionKind::AxisIndex: return axis_index(x.number);
    case ExpressionKind::SizeValue: return sizes_[at(x.number)];
    case ExpressionKind::Load: return load(x);
    case ExpressionKind::StageResult: return results_[x.stage];
    case ExpressionKind::Random: return random(x);
    case ExpressionKind::Convert:
      return converted(e_, dtype_of(x.arguments[0]), x.dtype, values_[x.arguments[0]]);
    case ExpressionKind::Bitcast:
      return bitcast(e_, dtype_of(x.arguments[0]), x.dtype, values_[x.arguments[0]]);
    case ExpressionKind::Apply: break;
  }
  return applied(expression);
}

Value* LoopEmitter::applied(ExpressionId expression) {
  const Expression& x = kernel_.expressions[expression];
  const int arity = ir::def(x.op).arity;
  std::vector<Value*> arguments;
  bool vector = false;
  for (int i = 0; i < arity; ++i) {
    arguments.push_back(values_[x.arguments[at(i)]]);
    vector = vector || arguments.back()->getType()->isVectorTy();
  }
  if (vector) {
    for (Value*& argument : arguments) argument = splat(argument);
  }
  const DType operand = dtype_of(x.arguments[at(arity - 1)]);
  switch (schedule_.short_forms[expression]) {
    case ShortForm::DivideByInvariant: {
      const bool is_share = schedule_.divides_share(group_, expression);
      const auto emit = is_share ? emit_quotient_of_share : emit_divide;
      return emit(e_, arguments[0], arguments[1]);
    }
    case ShortForm::ExpOfNonpositive:
      return rounded(e_, x.dtype, emit_exp_of_nonpositive(e_, arguments[0]));
    case ShortForm::None: break;
  }
  Value* result = emit_scalar(e_, x.op, operand, arguments);
  return ir::def(x.op).exact ? result : rounded(e_, x.dtype, result);
}

Value* LoopEmitter::random(const Expression& x) {
  Value* position = values_[x.arguments[0]];
  Value* element = values_[x.arguments[1]];
  const bool vector = position->getType()->isVectorTy() || element->getType()->isVectorTy();
  const auto shaped = [&](Value* v) { return vector ? splat(v) : v; };
  Value* seed = b_.CreateXor(call_.seed, b_.getInt64(static_cast<std::uint64_t>(x.seed)));
  return emit_uniform(e_, x.dtype,
                      {.seed = shaped(seed),
                       .call_counter = shaped(call_.counter),
                       .position = shaped(position),
                       .element = shaped(element),
                       .element_is_narrow = levels_.is_narrow(x.arguments[1]),
                       .stream = static_cast<std::uint64_t>(x.stream)});
}

Value* LoopEmitter::constant(const Expression& x) {
  if (!parameters_ || !is_code_parameter(x)) return splat_constant(x.dtype, x.bits, b_.getInt1Ty());
  Value* bits = b_.CreateTrunc(read_parameter(static_cast<std::int64_t>(x.bits)), b_.getInt32Ty());
  return b_.CreateBitCast(bits, b_.getFloatTy());
}

}  // namespace kiln::cpu
