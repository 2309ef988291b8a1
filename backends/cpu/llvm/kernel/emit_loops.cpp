// Emits loops. Lanes run along the kernel's vector axis: whole vectors, then one masked vector. If
// that axis is an outer one, a stage's inner loops run inside it and every lane is an output point;
// if it is the last inner axis, a reduction keeps partial results in lanes and reduces them at its
// end.
#include "backends/cpu/llvm/kernel/loop_emitter.h"
#include "core/types/at.h"

namespace kiln::cpu {

using llvm::BasicBlock;
using llvm::Value;

void LoopEmitter::loop(Value* first, Value* last, std::int64_t step, const Body& body) {
  llvm::LLVMContext& context = e_.module.getContext();
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* head = BasicBlock::Create(context, "head", function_);
  BasicBlock* inside = BasicBlock::Create(context, "body", function_);
  BasicBlock* after = BasicBlock::Create(context, "after", function_);
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  llvm::PHINode* index = b_.CreatePHI(b_.getInt64Ty(), 2);
  index->addIncoming(first, before);
  b_.CreateCondBr(b_.CreateICmpSLT(index, last), inside, after);
  b_.SetInsertPoint(inside);
  const std::size_t mark = computed_.size();
  body(index);
  forget(mark);
  Value* next = b_.CreateAdd(index, b_.getInt64(at(step)), "", /*NUW=*/true, /*NSW=*/true);
  index->addIncoming(next, b_.GetInsertBlock());
  b_.CreateBr(head);
  b_.SetInsertPoint(after);
}

void LoopEmitter::vector_loop(Value* first, Value* last, std::optional<std::int64_t> count,
                              const Body& body) {
  Value* lanes = b_.getInt64(at(lanes_));
  const bool has_rest = !count || *count % lanes_ != 0;
  Value* whole = last;
  if (has_rest) {
    Value* vectors = b_.CreateSDiv(b_.CreateSub(last, first), lanes);
    whole = b_.CreateAdd(first, b_.CreateMul(vectors, lanes));
  }
  width_ = lanes_;
  mask_ = nullptr;
  if (!count || *count >= lanes_) loop(first, whole, lanes_, body);
  if (has_rest) masked_rest(whole, last, body);
  width_ = 1;
  mask_ = nullptr;
}

void LoopEmitter::masked_loop(Value* first, Value* last, const Body& body) {
  const int lanes = lanes_;
  lanes_ = width_ = schedule_.register_lanes;
  loop(first, last, lanes_, [&](Value* index) {
    mask_ = lanes_before(b_.CreateSub(last, index));
    body(index);
  });
  lanes_ = lanes;
}

void LoopEmitter::masked_rest(Value* whole, Value* last, const Body& body) {
  llvm::LLVMContext& context = e_.module.getContext();
  BasicBlock* rest = BasicBlock::Create(context, "rest", function_);
  BasicBlock* after = BasicBlock::Create(context, "after", function_);
  b_.CreateCondBr(b_.CreateICmpSLT(whole, last), rest, after);
  b_.SetInsertPoint(rest);
  mask_ = lanes_before(b_.CreateSub(last, whole));
  const std::size_t mark = computed_.size();
  body(whole);
  forget(mark);
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

void LoopEmitter::axis_loop(int axis, const std::function<void()>& body) {
  const ir::Dim& extent = kernel_.axes[at(axis)];
  std::optional<std::int64_t> count;
  if (extent.is_static()) count = extent.value();
  if (axis > 0 || kernel_.outer == 0) {
    return axis_loop(axis, b_.getInt64(0), size(extent), count, body);
  }
  // Parts at other multiples may have a rest of any length.
  if (kernel_.part_multiple % lanes_ != 0) count.reset();
  axis_loop(axis, begin_, end_, count, body);
}

void LoopEmitter::axis_loop(int axis, Value* first, Value* last, std::optional<std::int64_t> count,
                            const std::function<void()>& body) {
  const Body inside = [&](Value* index) {
    index_[at(axis)] = index;
    body();
  };
  if (axis == kernel_.vector_axis && lanes_ > 1) {
    return vector_loop(first, last, count, inside);
  }
  loop(first, last, 1, inside);
}

void LoopEmitter::inner_loops(const std::vector<ExpressionId>& needed, int axis,
                              const std::function<void()>& point) {
  if (axis == static_cast<int>(kernel_.axes.size())) return point();
  if (axis == parts_.axis) return loop_in_parts(needed, axis, point);
  axis_loop(axis, [&] {
    const IdVector<AccessId, CheckedRow> outside = checked_rows_;
    compute(needed, axis + 1);
    check_rows(needed, axis + 1);
    inner_loops(needed, axis + 1, point);
    checked_rows_ = outside;
  });
}

void LoopEmitter::loop_in_parts(const std::vector<ExpressionId>& needed, int axis,
                                const std::function<void()>& point) {
  Value* last = size(kernel_.axes[at(axis)]);
  const std::int64_t length = schedule_.sum_parts.length;
  loop(b_.getInt64(0), last, length, [&](Value* start) {
    Value* next = b_.CreateAdd(start, b_.getInt64(at(length)));
    Value* stop = b_.CreateSelect(b_.CreateICmpSLT(next, last), next, last);
    axis_loop(axis, start, stop, {}, [&] {
      compute(needed, axis + 1);
      inner_loops(needed, axis + 1, point);
    });
    for (const Parts::Sum& sum : parts_.sums) {
      Value* part = b_.CreateLoad(sum.type, sum.part);
      b_.CreateStore(b_.CreateFAdd(b_.CreateLoad(sum.type, sum.whole), part), sum.whole);
      b_.CreateStore(llvm::Constant::getNullValue(sum.type), sum.part);
    }
  });
}

}  // namespace kiln::cpu
