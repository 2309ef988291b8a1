// Emits maps that read a transposed operand in square tiles, which are transposed in registers.
#include "backends/cpu/llvm/kernel/kernel_emitter.h"
#include "backends/cpu/llvm/kernel/transpose_tile.h"
#include "core/types/at.h"

namespace kiln::cpu {
using namespace codegen;
using llvm::Type;
using llvm::Value;

void KernelEmitter::tile_loops() {
  const auto& [axis, rows, tiled] = schedule_.tiles;
  for (const AccessId i : tiled.ids()) {
    if (tiled[i]) tiles_.ahead[i] = elements_ahead(kernel_.accesses[i]);
  }
  Value* last = axis == 0 ? end_ : size(kernel_.axes[at(axis)]);
  loop(axis == 0 ? begin_ : b_.getInt64(0), last, rows, [&](Value* block) {
    Value* next = b_.CreateAdd(block, b_.getInt64(at(schedule_.tiles.rows)));
    loops_in_block(schedule_.tiles.axis + 1, block,
                   b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, next, last));
  });
}

void KernelEmitter::loops_in_block(int axis, Value* first, Value* last) {
  axis_loop(axis, [&] {
    if (axis != kernel_.vector_axis) return loops_in_block(axis + 1, first, last);
    loop(first, last, lanes_, [&](Value* row) { tile(row, last); });
  });
}

void KernelEmitter::tile(Value* first, Value* last) {
  const int lanes_axis = kernel_.vector_axis, axis = schedule_.tiles.axis;
  const IdVector<AccessId, bool>& tiled = schedule_.tiles.tiled;
  Value* left = b_.CreateSub(last, first);
  Value* rows = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, b_.getInt64(at(lanes_)));
  index_[at(axis)] = first;
  for (const AccessId i : tiled.ids()) {
    if (tiled[i]) read_tile(i, rows);
  }
  loop(b_.getInt64(0), rows, 1, [&](Value* row) {
    index_[at(axis)] = b_.CreateAdd(first, row);
    tiles_.row = row;
    compute(levels_.needed_everywhere(), lanes_axis + 1);
    outer_loops(lanes_axis + 1);
    tiles_.row = nullptr;
  });
}

void KernelEmitter::read_tile(AccessId id, Value* rows) {
  const Access& access = kernel_.accesses[id];
  const auto bits = static_cast<unsigned>(8 * dtype_bytes(kernel_.operands[access.operand].dtype));
  auto* vector = llvm::FixedVectorType::get(b_.getIntNTy(bits), static_cast<unsigned>(lanes_));
  Value*& memory = tiles_.memory[id];
  if (!memory) memory = variable(llvm::ArrayType::get(vector, at(lanes_)));
  Value* columns = b_.getInt64(at(lanes_));
  if (mask_) {
    Value* end = size(kernel_.axes[at(kernel_.vector_axis)]);
    columns = b_.CreateSub(end, index_[at(kernel_.vector_axis)]);
  }
  Value* from =
      b_.CreateGEP(vector->getElementType(), buffers_[access.operand], scalar_offset(access));
  Value* stride = size(access.strides[at(kernel_.vector_axis)]);
  transpose_tile(e_, vector,
                 {.from = from,
                  .stride = stride,
                  .to = memory,
                  .rows = rows,
                  .columns = columns,
                  .ahead = tiles_.ahead[id]});
}

Value* KernelEmitter::elements_ahead(const Access& access) {
  const DType dtype = kernel_.operands[access.operand].dtype;
  Value* spanned = b_.getInt64(0);
  for (std::size_t axis = 0; axis < access.strides.size(); ++axis) {
    if (access.strides[axis] == ir::Dim(0)) continue;
    Value* elements = b_.CreateMul(size(kernel_.axes[axis]), size(access.strides[axis]));
    spanned = b_.CreateSelect(b_.CreateICmpSGT(elements, spanned), elements, spanned);
  }
  const auto min_elements =
      cpu_.tuning.min_prefetched_tile_bytes / static_cast<std::int64_t>(dtype_bytes(dtype));
  Value* is_large = b_.CreateICmpSGE(spanned, b_.getInt64(at(min_elements)));
  Value* stride = size(access.strides[at(kernel_.vector_axis)]);
  Value* ahead = b_.CreateMul(stride, b_.getInt64(at(cpu_.tuning.tiles_ahead * lanes_)));
  return b_.CreateSelect(is_large, ahead, b_.getInt64(0));
}

Value* MemoryEmitter::row_of_tile(const Expression& x) {
  Type* element = e_.memory_type(x.dtype);
  auto* type = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_));
  Value* row = b_.CreateGEP(type, tiles_.memory[x.access], tiles_.row);
  return from_memory(e_, x.dtype, b_.CreateLoad(type, row));
}

}  // namespace kiln::cpu
