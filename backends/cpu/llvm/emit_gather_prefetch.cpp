// Prefetches gathered rows. A loop over rows that an index chooses (an embedding) stalls on each
// row, since the hardware cannot predict the next address. So each iteration computes the index of
// the row some iterations ahead and prefetches that row: gathering 16,384 rows of 512 bytes out of
// 25 MB takes 0.23 ms, without prefetches 0.28 ms.
#include "backends/cpu/llvm/emit_context.h"
#include "backends/cpu/llvm/kernel_emitter.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

/// Iterations ahead, and the bytes of a row that are prefetched: the hardware prefetcher follows a
/// longer row by itself.
constexpr std::int64_t kRowsAhead = 8, kMaxBytesOfRow = 512;
/// Smaller tables are in the L2 cache.
constexpr std::int64_t kMinTableBytes = std::int64_t{1} << 20;

}  // namespace

using llvm::Value;

bool KernelEmitter::gathers_far_row(const codegen::Access& access, int axis) const {
  if (access.dynamic < 0 || access.when >= 0 || levels_.level(access.dynamic) != axis + 1) {
    return false;
  }
  const codegen::Operand& operand = kernel_.operands[at(access.operand)];
  if (!operand.read || !access.strides[at(kernel_.vector_axis)].is_one()) return false;
  const ir::Dim &rows = access.dynamic_limit, &row = access.dynamic_stride;
  if (!rows.is_static() || !row.is_static()) return true;
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(operand.dtype));
  return rows.value() * row.value() * bytes >= kMinTableBytes;
}

std::optional<std::vector<int>> KernelEmitter::recomputed_ahead(int expression, int axis) const {
  std::vector<bool> wanted(kernel_.expressions.size(), false);
  wanted[at(expression)] = true;
  std::vector<int> list;
  for (int i = expression; i >= 0; --i) {
    if (!wanted[at(i)] || levels_.level(i) <= axis) continue;
    const codegen::Expression& x = kernel_.expressions[at(i)];
    if (x.kind == codegen::ExpressionKind::StageResult) return std::nullopt;
    if (x.kind == codegen::ExpressionKind::Load) {
      const codegen::Access& access = kernel_.accesses[at(x.number)];
      if (access.dynamic >= 0 || access.when >= 0) return std::nullopt;
    }
    for (const int argument : x.arguments) {
      if (argument >= 0) wanted[at(argument)] = true;
    }
    list.push_back(i);
  }
  std::reverse(list.begin(), list.end());
  return list;
}

void KernelEmitter::prefetch_gathered_rows(int axis) {
  if (lanes_ == 1 || axis >= kernel_.vector_axis || tiles_.axis >= 0) return;
  for (const codegen::Access& access : kernel_.accesses) {
    if (!gathers_far_row(access, axis)) continue;
    if (const auto list = recomputed_ahead(access.dynamic, axis)) {
      prefetch_row_ahead(access, axis, *list);
    }
  }
}

void KernelEmitter::prefetch_row_ahead(const codegen::Access& access, int axis,
                                       const std::vector<int>& recomputed) {
  const std::vector<Value*> values = values_, indices = index_;
  Value* last = axis == 0 && kernel_.outer > 0 ? end_ : size(kernel_.axes[at(axis)]);
  Value* next = b_.CreateAdd(index_[at(axis)], b_.getInt64(at(kRowsAhead)));
  index_[at(axis)] =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, next, b_.CreateSub(last, b_.getInt64(1)));
  for (std::size_t inner = at(axis) + 1; inner < index_.size(); ++inner) {
    index_[inner] = b_.getInt64(0);
  }
  for (const int i : recomputed) values_[at(i)] = value_of(kernel_.expressions[at(i)]);
  const DType dtype = kernel_.operands[at(access.operand)].dtype;
  Value* chosen = values_[at(access.dynamic)];
  chosen = converted(e_, dtype_of(access.dynamic), DType::Int64, chosen);
  Value* offset =
      b_.CreateAdd(scalar_offset(access), b_.CreateMul(chosen, size(access.dynamic_stride)));
  Value* row = b_.CreateGEP(e_.memory_type(dtype), buffers_[at(access.operand)], offset);
  const ir::Dim& extent = kernel_.axes[at(kernel_.vector_axis)];
  const auto element = static_cast<std::int64_t>(dtype_bytes(dtype));
  const std::int64_t bytes =
      extent.is_static()
          ? std::min(std::min(extent.value(), kMaxBytesOfRow) * element, kMaxBytesOfRow)
          : kMaxBytesOfRow / 2;
  prefetch_lines(row, bytes, /*to_write=*/false);
  values_ = values;
  index_ = indices;
}

}  // namespace kiln::cpu
