// Emits prefetches of gathered rows: the index of the row some iterations ahead is computed again.
#include "backends/cpu/llvm/scalar/emit_context.h"
#include "backends/cpu/llvm/kernel/loop_emitter.h"
#include "core/types/at.h"

namespace kiln::cpu {
using llvm::Value;

void LoopEmitter::prefetch_gathered_rows(int axis) {
  for (const GatherPrefetch& prefetch : schedule_.gather_prefetches) {
    if (prefetch.axis == axis) prefetch_row_ahead(prefetch);
  }
}

void LoopEmitter::prefetch_row_ahead(const GatherPrefetch& prefetch) {
  const int axis = prefetch.axis;
  const codegen::Access& access = kernel_.accesses[prefetch.access];
  const IdVector<ExpressionId, Value*> values = values_;
  const std::vector<Value*> indices = index_;
  Value* last = axis == 0 && kernel_.outer > 0 ? end_ : size(kernel_.axes[at(axis)]);
  Value* next = b_.CreateAdd(index_[at(axis)], b_.getInt64(at(cpu_.tuning.gathered_rows_ahead)));
  index_[at(axis)] =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, next, b_.CreateSub(last, b_.getInt64(1)));
  for (std::size_t inner = at(axis) + 1; inner < index_.size(); ++inner) {
    index_[inner] = b_.getInt64(0);
  }
  for (const ExpressionId i : prefetch.recomputed) values_[i] = value_of(i);
  const DType dtype = kernel_.operands[access.operand].dtype;
  Value* chosen = values_[access.dynamic];
  chosen = converted(e_, dtype_of(access.dynamic), DType::Int64, chosen);
  Value* offset =
      b_.CreateAdd(scalar_offset(access), b_.CreateMul(chosen, size(access.dynamic_stride)));
  Value* row = b_.CreateGEP(e_.memory_type(dtype), buffers_[access.operand], offset);
  prefetch_lines(row, prefetch.bytes, /*to_write=*/false);
  values_ = values;
  index_ = indices;
}

}  // namespace kiln::cpu
