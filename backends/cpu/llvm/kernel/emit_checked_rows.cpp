// Emits the bounds check of a gathered row once per row. A row out of range is replaced by zeros on
// the stack; its offsets are masked to 0, so that every load of the row reads those zeros.
#include "backends/cpu/llvm/scalar/emit_context.h"
#include "backends/cpu/llvm/kernel/memory_emitter.h"

namespace kiln::cpu {

using namespace codegen;
using llvm::Type;
using llvm::Value;

void MemoryEmitter::check_rows(const std::vector<ExpressionId>& list, int level) {
  for (const ExpressionId i : list) {
    const Expression& x = kernel_.expressions[i];
    if (x.kind != ExpressionKind::Load || schedule_.checked_rows[x.access] != level) continue;
    if (checked_rows_[x.access].base) continue;
    const Access& access = kernel_.accesses[x.access];
    Type* element = e_.memory_type(x.dtype);
    Value* index = converted(e_, dtype_of(access.dynamic), DType::Int64, values_[access.dynamic]);
    Value* inside = checked_index(x.access, access, index, nullptr);
    Value* offset = b_.CreateMul(index, size(access.dynamic_stride));
    Value* row = b_.CreateGEP(element, buffers_[access.operand], offset);
    Value* none = zeros(llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_)));
    checked_rows_[x.access] = {.base = b_.CreateSelect(inside, row, none),
                               .mask = b_.CreateSExt(inside, b_.getInt64Ty())};
  }
}

MemoryEmitter::Address MemoryEmitter::address_in_row(AccessId id) {
  const Access& access = kernel_.accesses[id];
  const CheckedRow& row = checked_rows_[id];
  Address result;
  result.contiguous = in_vector() && levels_.varies_along(access);
  if (result.contiguous) result.allowed = mask_;
  Type* element = e_.memory_type(kernel_.operands[access.operand].dtype);
  Value* offset = b_.CreateAnd(scalar_offset(access), row.mask);
  result.pointer = b_.CreateGEP(element, row.base, offset);
  return result;
}

}  // namespace kiln::cpu
