// Loops of a map that reads an operand across its lanes: neighbours in memory follow an outer axis.
// Such an operand is read in square tiles, as many lines as a vector has lanes, and each tile is
// transposed in registers, so that every line of memory is read once and as a whole.
#include "backends/codegen/kernel/order_axes.h"
#include "backends/cpu/llvm/kernel_emitter.h"
#include "backends/cpu/llvm/transpose_tile.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

/// Bytes of a line of memory.
constexpr int kLine = 64;

/// Tiles side by side of which every row is a whole line: pages are then left more rarely.
constexpr int kWholeLineTiles = 4;

/// Rows that are not written as whole lines: more of them, at a stride of a power of two, drive
/// each other out of the nearest cache.
constexpr int kMaxPartialRows = 16;

/// Rows of a block of elements of so many bytes.
int rows_of_block(int lanes, int bytes) {
  if (lanes * bytes >= kLine) return lanes * kWholeLineTiles;
  return std::min(kLine / bytes, kMaxPartialRows);
}

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

using namespace codegen;
using llvm::Type;
using llvm::Value;

void KernelEmitter::plan_tiles() {
  const int axis = lanes_ > 1 ? across_axis(kernel_) : -1;
  if (axis < 0) return;
  tiles_.axis = axis;
  tiles_.rows = kMaxPartialRows;
  const bool fills = fills_tiles();
  for (const Access& access : kernel_.accesses) {
    tiles_.tiled.push_back(fills && is_across(kernel_, access, axis));
    if (!tiles_.tiled.back()) continue;
    const auto bytes = static_cast<int>(dtype_bytes(kernel_.operands[at(access.operand)].dtype));
    tiles_.rows = std::max(tiles_.rows, rows_of_block(lanes_, bytes));
  }
  tiles_.memory.resize(kernel_.accesses.size());
}

bool KernelEmitter::fills_tiles() const {
  if (e_.target.level == IsaLevel::Avx512) return true;
  const auto fills = [&](int axis) {
    const ir::Dim& extent = kernel_.axes[at(axis)];
    return !extent.is_static() || extent.value() >= lanes_;
  };
  return fills(tiles_.axis) && fills(kernel_.vector_axis);
}

void KernelEmitter::tile_loops() {
  const int axis = tiles_.axis;
  Value* last = axis == 0 ? end_ : size(kernel_.axes[at(axis)]);
  loop(axis == 0 ? begin_ : b_.getInt64(0), last, tiles_.rows, [&](Value* block) {
    Value* next = b_.CreateAdd(block, b_.getInt64(at(tiles_.rows)));
    loops_in_block(axis + 1, block, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, next, last));
  });
}

void KernelEmitter::loops_in_block(int axis, Value* first, Value* last) {
  axis_loop(axis, [&] {
    if (axis != kernel_.vector_axis) return loops_in_block(axis + 1, first, last);
    loop(first, last, lanes_, [&](Value* row) { tile(row, last); });
  });
}

void KernelEmitter::tile(Value* first, Value* last) {
  const int lanes_axis = kernel_.vector_axis;
  Value* left = b_.CreateSub(last, first);
  Value* rows = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, b_.getInt64(at(lanes_)));
  index_[at(tiles_.axis)] = first;
  for (std::size_t number = 0; number < tiles_.tiled.size(); ++number) {
    if (tiles_.tiled[number]) read_tile(static_cast<int>(number), rows);
  }
  loop(b_.getInt64(0), rows, 1, [&](Value* row) {
    index_[at(tiles_.axis)] = b_.CreateAdd(first, row);
    tiles_.row = row;
    compute(levels_.needed_everywhere(), lanes_axis + 1);
    outer_loops(lanes_axis + 1);
    tiles_.row = nullptr;
  });
}

void KernelEmitter::read_tile(int number, Value* rows) {
  const Access& access = kernel_.accesses[at(number)];
  const auto bits =
      static_cast<unsigned>(8 * dtype_bytes(kernel_.operands[at(access.operand)].dtype));
  auto* vector = llvm::FixedVectorType::get(b_.getIntNTy(bits), static_cast<unsigned>(lanes_));
  Value*& memory = tiles_.memory[at(number)];
  if (!memory) memory = variable(llvm::ArrayType::get(vector, at(lanes_)));
  Value* columns = b_.getInt64(at(lanes_));
  if (mask_) {
    Value* end = size(kernel_.axes[at(kernel_.vector_axis)]);
    columns = b_.CreateSub(end, index_[at(kernel_.vector_axis)]);
  }
  Value* from = b_.CreateGEP(vector->getElementType(), buffers_[at(access.operand)],
                             scalar_offset(access));
  Value* stride = size(access.strides[at(kernel_.vector_axis)]);
  transpose_tile(e_, vector, {from, stride, memory, rows, columns});
}

Value* KernelEmitter::row_of_tile(const Expression& x) {
  Type* element = e_.memory_type(x.dtype);
  auto* type = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_));
  Value* row = b_.CreateGEP(type, tiles_.memory[at(x.number)], tiles_.row);
  return from_memory(e_, x.dtype, b_.CreateLoad(type, row));
}

}  // namespace kiln::cpu
