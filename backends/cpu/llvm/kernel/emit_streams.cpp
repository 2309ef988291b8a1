// Emits streaming (non-temporal) stores: the loops that have them, and plain ones.
#include "backends/cpu/llvm/kernel/kernel_emitter.h"
#include "core/types/at.h"

#include <llvm/IR/IntrinsicsX86.h>

namespace kiln::cpu {
using llvm::BasicBlock;
using llvm::Type;
using llvm::Value;

void KernelEmitter::streaming_loops() {
  llvm::LLVMContext& context = e_.module.getContext();
  BasicBlock* streaming = BasicBlock::Create(context, "streaming", function_);
  BasicBlock* plain = BasicBlock::Create(context, "plain", function_);
  BasicBlock* after = BasicBlock::Create(context, "after", function_);
  b_.CreateCondBr(may_stream(), streaming, plain);
  b_.SetInsertPoint(streaming);
  is_streaming_ = true;
  outer_loops(0);
  is_streaming_ = false;
  b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {});
  b_.CreateBr(after);
  b_.SetInsertPoint(plain);
  outer_loops(0);
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

Value* KernelEmitter::may_stream() {
  Value* first = kernel_.vector_axis == 0 ? begin_ : b_.getInt64(0);
  Value* bits = b_.getInt64(0);
  Value* apart = b_.getTrue();
  for (const OperandId i : kernel_.operands.ids()) {
    if (!schedule_.streams.operands[i]) continue;
    Type* element = e_.memory_type(kernel_.operands[i].dtype);
    Value* start = b_.CreateGEP(element, buffers_[i], first);
    bits = b_.CreateOr(bits, b_.CreatePtrToInt(start, b_.getInt64Ty()));
    for (const OperandId j : kernel_.operands.ids()) {
      if (!kernel_.operands[j].read || j == i) continue;
      apart = b_.CreateAnd(apart, b_.CreateICmpNE(buffers_[i], buffers_[j]));
    }
  }
  if (schedule_.streams.alone) {
    // One thread gets the whole domain, several get parts of it.
    Value* points = b_.CreateSub(end_, begin_);
    apart = b_.CreateAnd(apart, b_.CreateICmpEQ(points, size(kernel_.axes[0]), "is_alone"));
  }
  Value* low = b_.CreateAnd(bits, b_.getInt64(at(cpu_.tuning.line_bytes - 1)));
  return b_.CreateAnd(apart, b_.CreateICmpEQ(low, b_.getInt64(0)));
}

}  // namespace kiln::cpu
