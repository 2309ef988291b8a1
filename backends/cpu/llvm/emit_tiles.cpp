// Emits maps that read a transposed operand, whose elements are contiguous along an outer axis
// instead of the vector axis. Such an operand is read in square tiles of as many rows as a vector
// has lanes, and each tile is transposed in registers, so that every cache line is read once and
// whole.
#include "backends/codegen/kernel/order_axes.h"
#include "backends/cpu/llvm/kernel_emitter.h"
#include "backends/cpu/llvm/transpose_tile.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

/// Bytes of a cache line.
constexpr int kLine = 64;

/// Adjacent tiles in a block if a row of a tile is a whole line: consecutive stores then stay in a
/// page for longer.
constexpr int kWholeLineTiles = 4;

/// Rows of a block if lines are not written whole: more of them, at a stride of a power of two,
/// would evict each other from the L1 cache.
constexpr int kMaxPartialRows = 16;

/// Each tile prefetches the second next one along the vector axis if the operand spans at least
/// kMinPrefetchedBytes. Transposing axes of 32 x 56 x 56 x 64 takes 0.73 ms, without prefetches 1.4
/// to 1.9; 4096 x 4096 4.5 ms instead of 7.3; 5 x 56 x 56 x 64 would take 1.03 times as long and
/// 1 x 28 x 28 x 64 1.18 times (one core of an EPYC, Zen 5).
constexpr std::int64_t kTilesAhead = 2, kMinPrefetchedBytes = std::int64_t{8} << 20;

/// Returns the rows of a block of elements of `bytes` bytes.
int rows_of_block(int lanes, int bytes) {
  if (lanes * bytes >= kLine) return lanes * kWholeLineTiles;
  return std::min(kLine / bytes, kMaxPartialRows);
}

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

void KernelEmitter::widen_tiles() {
  if (tiles_.axis < 0 || streams() || lanes_ * widest() >= kLine) return;
  const auto is_whole = [&](int axis) {
    const ir::Dim& extent = kernel_.axes[at(axis)];
    return extent.is_static() && extent.value() % (2 * lanes_) == 0;
  };
  if (!is_whole(tiles_.axis) || !is_whole(kernel_.vector_axis)) return;
  const int lanes = lanes_;
  for (const int tried : {2 * lanes, lanes}) {
    lanes_ = tried;
    tiles_ = {};
    plan_tiles();
    find_streamed();
    if (streams()) return;
  }
}

bool KernelEmitter::fills_tiles() const {
  if (e_.target.isa == Isa::Avx512) return true;
  const auto fills = [&](int axis) {
    const ir::Dim& extent = kernel_.axes[at(axis)];
    return !extent.is_static() || extent.value() >= lanes_;
  };
  return fills(tiles_.axis) && fills(kernel_.vector_axis);
}

void KernelEmitter::tile_loops() {
  const int axis = tiles_.axis;
  tiles_.ahead.resize(kernel_.accesses.size());
  for (std::size_t i = 0; i < tiles_.tiled.size(); ++i) {
    if (tiles_.tiled[i]) tiles_.ahead[i] = elements_ahead(kernel_.accesses[i]);
  }
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
  Value* from =
      b_.CreateGEP(vector->getElementType(), buffers_[at(access.operand)], scalar_offset(access));
  Value* stride = size(access.strides[at(kernel_.vector_axis)]);
  transpose_tile(e_, vector,
                 {.from = from,
                  .stride = stride,
                  .to = memory,
                  .rows = rows,
                  .columns = columns,
                  .ahead = tiles_.ahead[at(number)]});
}

Value* KernelEmitter::elements_ahead(const Access& access) {
  const DType dtype = kernel_.operands[at(access.operand)].dtype;
  Value* spanned = b_.getInt64(0);
  for (std::size_t axis = 0; axis < access.strides.size(); ++axis) {
    if (access.strides[axis] == ir::Dim(0)) continue;
    Value* elements = b_.CreateMul(size(kernel_.axes[axis]), size(access.strides[axis]));
    spanned = b_.CreateSelect(b_.CreateICmpSGT(elements, spanned), elements, spanned);
  }
  const auto min_elements = kMinPrefetchedBytes / static_cast<std::int64_t>(dtype_bytes(dtype));
  Value* is_large = b_.CreateICmpSGE(spanned, b_.getInt64(at(min_elements)));
  Value* stride = size(access.strides[at(kernel_.vector_axis)]);
  Value* ahead = b_.CreateMul(stride, b_.getInt64(at(kTilesAhead * lanes_)));
  return b_.CreateSelect(is_large, ahead, b_.getInt64(0));
}

Value* KernelEmitter::row_of_tile(const Expression& x) {
  Type* element = e_.memory_type(x.dtype);
  auto* type = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_));
  Value* row = b_.CreateGEP(type, tiles_.memory[at(x.number)], tiles_.row);
  return from_memory(e_, x.dtype, b_.CreateLoad(type, row));
}

}  // namespace kiln::cpu
