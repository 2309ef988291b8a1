// Emits the bounds check of a gathered row once per row. The index of a row (an embedding) belongs
// to a loop around the loop over the row's elements; a check of every vector of the row costs more
// than the load of it. A row out of range is replaced by zeros on the stack, which a mask of the
// offset makes every element of the row read.
#include "backends/cpu/llvm/emit_context.h"
#include "backends/cpu/llvm/kernel_emitter.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::cpu {

using namespace codegen;
using llvm::Type;
using llvm::Value;

bool KernelEmitter::is_checked_per_row(const Expression& x, int level) const {
  if (x.kind != ExpressionKind::Load || checked_rows_[at(x.number)].base) return false;
  const Access& access = kernel_.accesses[at(x.number)];
  if (access.dynamic < 0 || access.when >= 0) return false;
  if (levels_.level(access.dynamic) != level) return false;
  const Value* index = values_[at(access.dynamic)];
  if (!index || index->getType()->isVectorTy()) return false;
  if (tiles_.axis >= 0 && tiles_.tiled[at(x.number)]) return false;
  if (levels_.varies_along(access) && !access.strides[at(kernel_.vector_axis)].is_one()) {
    return false;
  }
  const auto varies = [](const ir::Dim& stride) { return stride != ir::Dim(0); };
  const auto has_points = [](const ir::Dim& extent) {
    return extent.is_static() && extent.value() > 0;
  };
  return std::any_of(access.strides.begin() + level, access.strides.end(), varies) &&
         std::all_of(kernel_.axes.begin() + level, kernel_.axes.end(), has_points);
}

void KernelEmitter::check_rows(const std::vector<int>& list, int level) {
  for (const int i : list) {
    const Expression& x = kernel_.expressions[at(i)];
    if (!is_checked_per_row(x, level)) continue;
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

KernelEmitter::Address KernelEmitter::address_in_row(int number) {
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
