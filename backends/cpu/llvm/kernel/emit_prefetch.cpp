// Emits prefetches of the next row, and of the lines of any.
#include "backends/cpu/llvm/kernel/memory_emitter.h"
#include "core/types/at.h"

namespace kiln::cpu {
using llvm::Value;

Value* MemoryEmitter::bytes_to_next_row(const codegen::Access& access, const PrefetchSite& site) {
  if (site.bytes_ahead != 0) return size(site.bytes_ahead);
  const DType dtype = kernel_.operands[access.operand].dtype;
  Value* stride = size(access.strides[at(kernel_.outer - 1)]);
  Value* bytes = b_.CreateMul(stride, b_.getInt64(dtype_bytes(dtype)));
  Value* most = b_.getInt64(at(cpu_.tuning.max_bytes_ahead));
  return b_.CreateSelect(b_.CreateICmpULT(bytes, most), bytes, most);
}

void MemoryEmitter::prefetch_next_row(AccessId id, Value* pointer, bool to_write) {
  const codegen::Access& access = kernel_.accesses[id];
  const PrefetchSite& site = schedule_.prefetches[access.operand];
  if (site.access != id || (site.group && site.group != group_)) return;
  const DType dtype = kernel_.operands[access.operand].dtype;
  Value* ahead = bytes_to_next_row(access, site);
  Value* next = b_.CreateGEP(b_.getInt8Ty(), pointer, ahead);
  const Locality locality = site.group ? Locality::L1 : Locality::L2;
  prefetch_lines(next, lanes_ * static_cast<std::int64_t>(dtype_bytes(dtype)), to_write, locality);
}

void MemoryEmitter::prefetch_lines(Value* first, std::int64_t bytes, bool to_write,
                                   Locality locality) {
  for (std::int64_t byte = 0; byte < bytes; byte += cpu_.tuning.line_bytes) {
    Value* line = b_.CreateConstGEP1_64(b_.getInt8Ty(), first, at(byte));
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {line->getType()},
                       {line, b_.getInt32(to_write ? 1 : 0),
                        b_.getInt32(static_cast<unsigned>(locality)), b_.getInt32(1)});
  }
}

}  // namespace kiln::cpu
