// Non-temporal stores of large results. An ordinary store fetches its line before it overwrites it,
// and a result larger than the last cache is gone from it before anybody reads it: 2.0 for 3.5 ms
// to fill 64 MiB (EPYC, Zen 5, 32 MiB of third cache, one core). Below that size they cost time.
//
// They need vectors that are aligned, which depends on addresses: a loop of whole vectors exists
// twice, and each time it is entered a test picks one. Results are the same in both.
#include "backends/cpu/llvm/kernel_emitter.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

namespace kiln::cpu {
namespace {

using namespace codegen;

/// Results that span at least so many bytes in all are streamed: with what is read they then fill
/// a third cache of 32 MiB. A part of a concatenation spans nearly all of its result.
constexpr std::int64_t kStreamBytes = std::int64_t{15} << 20;
/// Shorter loops do not pay for the test of alignment.
constexpr std::int64_t kLeastVectors = 8;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

using llvm::BasicBlock;
using llvm::Type;
using llvm::Value;

void KernelEmitter::whole_vectors(Value* first, Value* whole, const Body& body) {
  if (!streams()) return loop(first, whole, lanes_, body);
  llvm::LLVMContext& context = e_.module.getContext();
  BasicBlock* past = BasicBlock::Create(context, "past_caches", function_);
  BasicBlock* through = BasicBlock::Create(context, "through_caches", function_);
  BasicBlock* after = BasicBlock::Create(context, "after", function_);
  b_.CreateCondBr(may_stream(first), past, through);
  b_.SetInsertPoint(past);
  streaming_ = has_streams_ = true;
  loop(first, whole, lanes_, body);
  streaming_ = false;
  b_.CreateBr(after);
  b_.SetInsertPoint(through);
  loop(first, whole, lanes_, body);
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

bool KernelEmitter::streams() const {
  if (tiles_.axis >= 0) return false;  // their rows are a few vectors long
  const std::vector<ir::Dim>& axes = kernel_.axes;
  const auto is_static = [](const ir::Dim& extent) { return extent.is_static(); };
  if (!std::all_of(axes.begin(), axes.end(), is_static)) return false;
  if (axes[at(kernel_.vector_axis)].value() < kLeastVectors * lanes_) return false;
  std::int64_t bytes = 0;
  for (const Stage& stage : kernel_.stages) {
    for (const Store& store : stage.stores) {
      const Access& access = kernel_.accesses[at(store.access)];
      if (access.strides[at(kernel_.vector_axis)] == ir::Dim(0)) continue;
      if (!is_streamable(store)) return false;
      bytes += spanned_bytes(access);
    }
  }
  return bytes >= kStreamBytes;
}

bool KernelEmitter::is_streamable(const Store& store) const {
  const Access& access = kernel_.accesses[at(store.access)];
  const auto lanes = access.strides.begin() + kernel_.vector_axis;
  const bool inner_move = std::any_of(lanes + 1, access.strides.end(),
                                      [](const ir::Dim& stride) { return stride != ir::Dim(0); });
  const bool forward =
      std::all_of(access.strides.begin(), access.strides.end(), [](const ir::Dim& stride) {
        return stride.is_static() && stride.value() >= 0;
      });
  return lanes->is_one() && forward && !inner_move && !store.accumulate && access.dynamic < 0 &&
         access.when < 0 && !kernel_.operands[at(access.operand)].read;
}

std::int64_t KernelEmitter::spanned_bytes(const Access& access) const {
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < kernel_.axes.size(); ++axis) {
    if (kernel_.axes[axis].value() == 0) return 0;
    last += (kernel_.axes[axis].value() - 1) * access.strides[axis].value();
  }
  return (last + 1) * static_cast<std::int64_t>(dtype_bytes(
                          kernel_.operands[at(access.operand)].dtype));
}

Value* KernelEmitter::may_stream(Value* first) {
  Value* bits = b_.getInt64(0);
  Value* apart = b_.getTrue();
  Value*& index = index_[at(kernel_.vector_axis)];
  Value* outside = index;
  index = first;
  for (const Stage& stage : kernel_.stages) {
    for (const Store& store : stage.stores) {
      const Access& access = kernel_.accesses[at(store.access)];
      if (!access.strides[at(kernel_.vector_axis)].is_one()) continue;
      Type* element = e_.memory_type(kernel_.operands[at(access.operand)].dtype);
      Value* start = b_.CreateGEP(element, buffers_[at(access.operand)], scalar_offset(access));
      bits = b_.CreateOr(bits, b_.CreatePtrToInt(start, b_.getInt64Ty()));
    }
  }
  index = outside;
  for (std::size_t i = 0; i < kernel_.operands.size(); ++i) {
    for (std::size_t j = 0; j < kernel_.operands.size(); ++j) {
      if (!kernel_.operands[i].written || !kernel_.operands[j].read) continue;
      apart = b_.CreateAnd(apart, b_.CreateICmpNE(buffers_[i], buffers_[j]));
    }
  }
  Value* low = b_.CreateAnd(bits, b_.getInt64(63));
  return b_.CreateAnd(apart, b_.CreateICmpEQ(low, b_.getInt64(0)));
}

void KernelEmitter::make_non_temporal(llvm::StoreInst* store) {
  Type* type = store->getValueOperand()->getType();
  const std::uint64_t width = e_.module.getDataLayout().getTypeStoreSize(type).getFixedValue();
  if (width % 16 != 0) return;
  store->setAlignment(llvm::Align(width >= 64 ? 64 : width));
  llvm::LLVMContext& context = e_.module.getContext();
  llvm::Metadata* one = llvm::ConstantAsMetadata::get(b_.getInt32(1));
  store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(context, one));
}

}  // namespace kiln::cpu
