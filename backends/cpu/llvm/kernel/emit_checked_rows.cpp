// Emits the bounds check of a gathered row once per row. A row out of range is replaced by zeros on
// the stack; its offsets are masked to 0, so that every load of the row reads those zeros.
#include "backends/cpu/llvm/scalar/emit_context.h"
#include "backends/cpu/llvm/kernel/memory_emitter.h"
#include "core/types/at.h"

namespace kiln::cpu {

using namespace codegen;
using llvm::Type;
using llvm::Value;

void MemoryEmitter::check_rows(const std::vector<int>& list, int level) {
  for (const int i : list) {
    const Expression& x = kernel_.expressions[at(i)];
    if (x.kind != ExpressionKind::Load || schedule_.checked_rows[at(x.number)] != level) continue;
    if (checked_rows_[at(x.number)].base) continue;
    const Access& access = kernel_.accesses[at(x.number)];
    Type* element = e_.memory_type(x.dtype);
    Value* index =
        converted(e_, dtype_of(access.dynamic), DType::Int64, values_[at(access.dynamic)]);
    Value* inside = checked_index(x.number, access, index, nullptr);
    Value* offset = b_.CreateMul(index, size(access.dynamic_stride));
    Value* row = b_.CreateGEP(element, buffers_[at(access.operand)], offset);
    Value* none = zeros(llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_)));
    checked_rows_[at(x.number)] = {.base = b_.CreateSelect(inside, row, none),
                                   .mask = b_.CreateSExt(inside, b_.getInt64Ty())};
  }
}

MemoryEmitter::Address MemoryEmitter::address_in_row(int number) {
  const Access& access = kernel_.accesses[at(number)];
  const CheckedRow& row = checked_rows_[at(number)];
  Address result;
  result.contiguous = in_vector() && levels_.varies_along(access);
  if (result.contiguous) result.allowed = mask_;
  Type* element = e_.memory_type(kernel_.operands[at(access.operand)].dtype);
  Value* offset = b_.CreateAnd(scalar_offset(access), row.mask);
  result.pointer = b_.CreateGEP(element, row.base, offset);
  return result;
}

}  // namespace kiln::cpu
