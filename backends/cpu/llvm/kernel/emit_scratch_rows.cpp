// Emits rows on the stack that take the place of a streamed operand's rows until their last stores.
#include "backends/cpu/llvm/kernel/loop_emitter.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::cpu {
using namespace codegen;
using llvm::Value;

MemoryEmitter::Address MemoryEmitter::address_in_scratch(const Access& access) {
  llvm::Type* element = e_.memory_type(kernel_.operands[access.operand].dtype);
  if (!scratch_row_) {
    const auto length = at(kernel_.axes.back().value());
    scratch_row_ = variable(llvm::ArrayType::get(element, length));
    llvm::cast<llvm::AllocaInst>(scratch_row_)
        ->setAlignment(llvm::Align(at(cpu_.tuning.line_bytes)));
  }
  Address result;
  result.pointer = b_.CreateGEP(element, scratch_row_, index_[at(kernel_.vector_axis)]);
  result.contiguous = true;
  result.allowed = mask_;
  return result;
}

void LoopEmitter::loop_from_line(const std::function<void()>& body) {
  const int axis = kernel_.vector_axis;
  const OperandId operand = schedule_.streams.scratch_operand;
  const std::int64_t line = cpu_.tuning.line_bytes;
  const auto access = std::find_if(kernel_.accesses.begin(), kernel_.accesses.end(),
                                   [&](const Access& each) { return each.operand == operand; });
  const DType dtype = kernel_.operands[operand].dtype;
  Value* last = size(kernel_.axes[at(axis)]);
  index_[at(axis)] = b_.getInt64(0);
  Value* row = b_.CreateGEP(e_.memory_type(dtype), buffers_[operand], scalar_offset(*access));
  Value* address = b_.CreatePtrToInt(row, b_.getInt64Ty());
  Value* bytes = b_.CreateAnd(b_.CreateNeg(address), b_.getInt64(at(line - 1)));
  Value* elements = b_.CreateUDiv(bytes, b_.getInt64(dtype_bytes(dtype)));
  Value* first = b_.CreateSelect(b_.CreateICmpSLT(elements, last), elements, last);
  masked_loop(b_.getInt64(0), first, [&](Value* index) {
    index_[at(axis)] = index;
    body();
  });
  // One line at a time: all whole lines are streamed, and only two parts of lines are not.
  const int lanes = lanes_;
  lanes_ = static_cast<int>(line / static_cast<std::int64_t>(dtype_bytes(dtype)));
  axis_loop(axis, first, last, {}, body);
  lanes_ = lanes;
}

}  // namespace kiln::cpu
