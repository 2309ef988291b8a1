// Emits streaming (non-temporal) stores. An ordinary store first loads the line that it overwrites;
// a streaming store does not, which saves a third of the traffic of a copy. Its line is in no cache
// afterwards, so only results that would not stay in the caches are streamed. With the
// prefetches of emit_prefetch.cpp, layer norm of 8192 x 1024 and its gradients take 4.1 ms instead
// of 6.1 (one core of an EPYC, Zen 5).
#include "backends/cpu/llvm/kernel_emitter.h"
#include "core/types/at.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace kiln::cpu {
namespace {

using namespace codegen;

/// Results are streamed if together they span at least this size: with the operands they then fill
/// an L3 cache of 32 MiB.
constexpr std::int64_t kStreamBytes = std::int64_t{15} << 20;

/// Results that are written in tiles of other operands are streamed if they span at least this
/// many bytes: their stores alternate between many pages, and the loads of the lines that ordinary
/// stores overwrite would cost more than the caches save. Transposing 2000 x 2000 takes 0.40 ms,
/// with ordinary stores 1.46, axes of 16 x 56 x 56 x 64 0.31 ms instead of 1.03.
constexpr std::int64_t kStreamTiledBytes = std::int64_t{8} << 20;

/// Several threads stream only if the kernel also loads at least as many bytes as it stores, and
/// more than this size in all. Streaming stores of one core complex share a narrow link (28 GB/s on
/// Zen 4, which one thread fills), and a smaller working set stays in an L3 cache of 32 MiB. Two
/// threads, ms with streaming and with ordinary stores: outer product of 4096 x 4096 2.38, 1.88;
/// joining 4 x 2048 x 512 0.61, 0.50; running sums of 2048 x 2048 0.62, 0.52; but layer norm of
/// 8192 x 1024 with its gradients 3.6, 4.9; ten operations on 2 x 4 Mi floats 0.66, 0.86.
constexpr std::int64_t kSharedStreamBytes = std::int64_t{40} << 20;

constexpr std::int64_t kLine = 64;

bool is_multiple(const ir::Dim& elements, std::int64_t element_bytes) {
  return elements.is_static() && elements.value() % kLine * element_bytes % kLine == 0;
}

/// Whether elements along the vector axis are contiguous, rows of them begin at cache lines, and
/// every point has an element of its own.
bool stores_whole_lines(const Kernel& kernel, const Access& access) {
  const auto element =
      static_cast<std::int64_t>(dtype_bytes(kernel.operands[at(access.operand)].dtype));
  if (access.dynamic >= 0 || access.when >= 0 || !is_multiple(access.offset, element)) return false;
  for (int axis = 0; axis < static_cast<int>(kernel.axes.size()); ++axis) {
    const ir::Dim& stride = access.strides[at(axis)];
    if (axis == kernel.vector_axis || kernel.axes[at(axis)].is_one()) continue;
    if (stride == ir::Dim(0) || !is_multiple(stride, element)) return false;
  }
  return access.strides[at(kernel.vector_axis)].is_one();
}

/// Bytes from the first to the last accessed element; 0 where an extent or a stride is unknown.
/// (One part of a concatenation spans nearly all of the result.)
std::int64_t spanned_bytes(const Kernel& kernel, const Access& access) {
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < kernel.axes.size(); ++axis) {
    const ir::Dim& extent = kernel.axes[axis];
    if (!extent.is_static() || extent.value() == 0) return 0;
    if (extent.is_one()) continue;
    if (!access.strides[axis].is_static()) return 0;
    last += (extent.value() - 1) * std::abs(access.strides[axis].value());
  }
  return (last + 1) *
         static_cast<std::int64_t>(dtype_bytes(kernel.operands[at(access.operand)].dtype));
}

/// The bytes that accesses of the chosen operands span.
std::int64_t spanned_bytes(const Kernel& kernel, const std::vector<bool>& chosen) {
  std::vector<std::int64_t> spans(kernel.operands.size());
  for (const Access& access : kernel.accesses) {
    if (!chosen[at(access.operand)]) continue;
    std::int64_t& span = spans[at(access.operand)];
    span = std::max(span, spanned_bytes(kernel, access));
  }
  return std::accumulate(spans.begin(), spans.end(), std::int64_t{0});
}

}  // namespace

using llvm::BasicBlock;
using llvm::Type;
using llvm::Value;

bool KernelEmitter::is_streamed(int operand) const {
  const Operand& written = kernel_.operands[at(operand)];
  if (!written.written || written.read) return false;
  const bool has_inner = kernel_.outer < static_cast<int>(kernel_.axes.size());
  int stores = 0;
  for (const Stage& stage : kernel_.stages) {
    for (const Store& one : stage.stores) {
      const Access& access = kernel_.accesses[at(one.access)];
      if (access.operand != operand) continue;
      ++stores;
      if (one.accumulate || (has_inner && !stage.inner)) return false;
      if (!stores_whole_lines(kernel_, access)) return false;
    }
  }
  // Where consecutive stores are not contiguous, each has to fill whole cache lines.
  const bool across =
      tiles_.axis >= 0 || kernel_.vector_axis != static_cast<int>(kernel_.axes.size()) - 1;
  const std::int64_t width = lanes_ * static_cast<std::int64_t>(dtype_bytes(written.dtype));
  return stores == 1 && (!across || width % kLine == 0);
}

void KernelEmitter::find_streamed() {
  if (lanes_ == 1) return;
  std::vector<bool> found, loads;
  for (std::size_t i = 0; i < kernel_.operands.size(); ++i) {
    found.push_back(is_streamed(static_cast<int>(i)));
    loads.push_back(kernel_.operands[i].read);
  }
  const auto streams_in_parts = [&](std::int64_t stored) {
    const std::int64_t loaded = spanned_bytes(kernel_, loads);
    return loaded >= stored && loaded + stored >= kSharedStreamBytes;
  };
  if (const int row = scratch_candidate(); row >= 0) {
    loads[at(row)] = false;
    std::vector<bool> only(found.size());
    only[at(row)] = true;
    const std::int64_t stored = spanned_bytes(kernel_, only);
    if (stored >= kStreamBytes && streams_in_parts(stored)) {
      scratch_operand_ = row;
      streamed_ = std::move(only);
      return;
    }
    loads[at(row)] = true;
  }
  const std::int64_t stored = spanned_bytes(kernel_, found);
  if (stored < (tiles_.axis >= 0 ? kStreamTiledBytes : kStreamBytes)) return;
  streamed_ = std::move(found);
  streams_alone_ = tiles_.axis < 0 && !streams_in_parts(stored);
}

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
  for (std::size_t i = 0; i < kernel_.operands.size(); ++i) {
    if (!streamed_[i]) continue;
    Type* element = e_.memory_type(kernel_.operands[i].dtype);
    Value* start = b_.CreateGEP(element, buffers_[i], first);
    bits = b_.CreateOr(bits, b_.CreatePtrToInt(start, b_.getInt64Ty()));
    for (std::size_t j = 0; j < kernel_.operands.size(); ++j) {
      if (!kernel_.operands[j].read || j == i) continue;
      apart = b_.CreateAnd(apart, b_.CreateICmpNE(buffers_[i], buffers_[j]));
    }
  }
  if (streams_alone_) {
    // One thread gets the whole domain, several get parts of it.
    Value* points = b_.CreateSub(end_, begin_);
    apart = b_.CreateAnd(apart, b_.CreateICmpEQ(points, size(kernel_.axes[0]), "is_alone"));
  }
  Value* low = b_.CreateAnd(bits, b_.getInt64(at(kLine - 1)));
  return b_.CreateAnd(apart, b_.CreateICmpEQ(low, b_.getInt64(0)));
}

}  // namespace kiln::cpu
