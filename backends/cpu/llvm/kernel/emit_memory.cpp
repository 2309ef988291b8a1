// Emits loads and stores: contiguous vectors, gathers and scatters, and dynamic indices with their
// bounds check.
#include "backends/cpu/llvm/kernel/memory_emitter.h"
#include "backends/cpu/llvm/scalar/emit_scalar.h"
#include "core/types/at.h"

#include <llvm/IR/InlineAsm.h>

#include <algorithm>

namespace kiln::cpu {
namespace {

/// The only lane that a constant mask allows; -1: the mask allows several lanes, or none. LLVM 22
/// stores a narrowed vector under a mask of one lane as an element of the wider type, over its
/// neighbours.
int only_lane(llvm::Value* mask) {
  const auto* constant = mask ? llvm::dyn_cast<llvm::Constant>(mask) : nullptr;
  if (!constant) return -1;
  const auto* type = llvm::cast<llvm::FixedVectorType>(constant->getType());
  int only = -1;
  for (unsigned lane = 0; lane < type->getNumElements(); ++lane) {
    const llvm::Constant* allowed = constant->getAggregateElement(lane);
    if (!allowed || allowed->isNullValue()) continue;
    if (only >= 0) return -1;
    only = static_cast<int>(lane);
  }
  return only;
}

CpuSchedule verified_schedule(const codegen::Kernel& kernel, const CpuDescription& cpu) {
  CpuSchedule schedule = schedule_cpu(kernel, cpu);
  verify(kernel, schedule, cpu);
  return schedule;
}

}  // namespace

using namespace codegen;
using llvm::BasicBlock;
using llvm::Type;
using llvm::Value;

MemoryEmitter::MemoryEmitter(llvm::Module& module, const Kernel& kernel, const IsaTarget& target,
                             std::vector<std::int64_t>* parameters)
    : FunctionFrame(module, kernel, target, parameters),
      cpu_(description_of(target)),
      schedule_(verified_schedule(kernel, cpu_)),
      levels_(kernel),
      lanes_(schedule_.lanes),
      values_(kernel.expressions.size()),
      index_(kernel.axes.size()),
      checked_rows_(kernel.accesses.size()) {
  tiles_.memory.resize(kernel.accesses.size());
  tiles_.ahead.resize(kernel.accesses.size());
}

Value* MemoryEmitter::lanes_before(Value* count) {
  Value* lanes = b_.CreateVectorSplat(at(lanes_), b_.CreateTrunc(count, b_.getInt32Ty()));
  return b_.CreateICmpSLT(lane_numbers(b_.getInt32Ty()), lanes);
}

Value* MemoryEmitter::lane_numbers(Type* type) {
  std::vector<llvm::Constant*> numbers;
  for (int lane = 0; lane < lanes_; ++lane) {
    numbers.push_back(llvm::ConstantInt::get(type, static_cast<std::uint64_t>(lane)));
  }
  return llvm::ConstantVector::get(numbers);
}

Value* MemoryEmitter::splat(Value* x) {
  return x->getType()->isVectorTy() ? x : b_.CreateVectorSplat(at(lanes_), x);
}

Value* MemoryEmitter::scalar_offset(const Access& access) {
  Value* offset = size(access.offset);
  for (std::size_t axis = 0; axis < access.strides.size(); ++axis) {
    const ir::Dim& stride = access.strides[axis];
    if (stride == ir::Dim(0)) continue;
    offset = b_.CreateAdd(offset, b_.CreateMul(index_[axis], size(stride)));
  }
  return offset;
}

bool MemoryEmitter::varies_in_lanes(const Access& access) const {
  const int first = in_row_block() ? row_axis() : kernel_.vector_axis;
  return first >= 0 && std::any_of(access.strides.begin() + first, access.strides.end(),
                                   [](const ir::Dim& stride) { return stride != ir::Dim(0); });
}

bool MemoryEmitter::has_neighbours_in_lanes(const Access& access) const {
  if (!in_row_block()) return access.strides[at(kernel_.vector_axis)].is_one();
  ir::Dim stride = 1;
  for (int axis = kernel_.vector_axis; axis > row_axis(); --axis) {
    if (access.strides[at(axis)] != stride) return false;
    stride = stride * kernel_.axes[at(axis)];
  }
  return access.strides[at(row_axis())] == stride;
}

MemoryEmitter::Address MemoryEmitter::address_of(AccessId id) {
  if (checked_rows_[id].base) return address_in_row(id);
  const Access& access = kernel_.accesses[id];
  return uses_scratch(access.operand) ? address_in_scratch(access) : address_in_memory(id);
}

MemoryEmitter::Address MemoryEmitter::address_in_memory(AccessId id) {
  const Access& access = kernel_.accesses[id];
  Type* element = e_.memory_type(kernel_.operands[access.operand].dtype);
  Value* base = buffers_[access.operand];
  Value* offset = scalar_offset(access);
  Address result;
  Value *dynamic = nullptr, *inside = !access.when ? nullptr : values_[access.when];
  if (access.dynamic) {
    dynamic = converted(e_, dtype_of(access.dynamic), DType::Int64, values_[access.dynamic]);
    inside = checked_index(id, access, dynamic, inside);
    dynamic = b_.CreateMul(dynamic, same_shape(size(access.dynamic_stride), dynamic));
    if (!dynamic->getType()->isVectorTy()) offset = b_.CreateAdd(offset, dynamic);
  }
  const bool scattered = dynamic && dynamic->getType()->isVectorTy();
  const bool along = in_vector() && varies_in_lanes(access);
  result.allowed = inside;
  if (!along && !scattered) {
    if (inside && mask_ && inside->getType()->isVectorTy()) {
      result.allowed = b_.CreateAnd(inside, mask_);
    }
    result.pointer = b_.CreateGEP(element, base, offset);
    return result;
  }
  if (along && !scattered && has_neighbours_in_lanes(access)) {
    if (in_row_block()) offset = b_.CreateAdd(offset, b_.getInt64(at(first_point())));
    result.pointer = b_.CreateGEP(element, base, offset);
    result.contiguous = true;
    const bool per_lane = inside && inside->getType()->isVectorTy();
    if (!per_lane) result.guard = inside;
    result.allowed = per_lane && mask_ ? b_.CreateAnd(inside, mask_) : per_lane ? inside : mask_;
    return result;
  }
  if (mask_) result.allowed = inside ? b_.CreateAnd(splat(inside), mask_) : mask_;
  Value* offsets = b_.CreateVectorSplat(at(lanes_), offset);
  if (along && in_row_block()) {
    offsets = b_.CreateAdd(offsets, offsets_in_block(access));
  } else if (along) {
    Value* stride = splat(size(access.strides[at(kernel_.vector_axis)]));
    offsets = b_.CreateAdd(offsets, b_.CreateMul(lane_numbers(b_.getInt64Ty()), stride));
  }
  if (scattered) offsets = b_.CreateAdd(offsets, dynamic);
  result.pointer = b_.CreateGEP(element, base, offsets);
  return result;
}

Value* MemoryEmitter::same_shape(Value* scalar, Value* like) {
  return like->getType()->isVectorTy() ? b_.CreateVectorSplat(at(lanes_), scalar) : scalar;
}

Value* MemoryEmitter::checked_index(AccessId id, const Access& access, Value* index, Value* when) {
  Value* limit = size(access.dynamic_limit);
  Value* inside = b_.CreateICmpULT(index, same_shape(limit, index));
  Value* bad = b_.CreateNot(inside);
  if (when) {
    const bool vector =
        in_vector() && (when->getType()->isVectorTy() || inside->getType()->isVectorTy());
    const auto shaped = [&](Value* x) { return vector ? splat(x) : x; };
    bad = b_.CreateAnd(shaped(bad), shaped(when));
    inside = b_.CreateAnd(shaped(inside), shaped(when));
    if (vector) index = splat(index);
  }
  if (mask_ && in_vector()) {
    bad = bad->getType()->isVectorTy() ? b_.CreateAnd(bad, mask_) : bad;
  }
  report(id, limit, index, bad);
  return inside;
}

void MemoryEmitter::report(AccessId id, Value* limit, Value* index, Value* bad) {
  llvm::LLVMContext& context = e_.module.getContext();
  const bool vector = bad->getType()->isVectorTy();
  Value* any = vector ? b_.CreateOrReduce(bad) : bad;
  if (call_.has_points) any = b_.CreateAnd(any, call_.has_points);
  BasicBlock* outside = BasicBlock::Create(context, "outside", function_);
  BasicBlock* after = BasicBlock::Create(context, "after", function_);
  Value* indices = variable(index->getType());
  Value* flags = variable(e_.with_lanes_of(b_.getInt8Ty(), bad->getType()));
  b_.CreateCondBr(any, outside, after);
  b_.SetInsertPoint(outside);
  b_.CreateStore(index, indices);
  b_.CreateStore(b_.CreateZExt(bad, e_.with_lanes_of(b_.getInt8Ty(), bad->getType())), flags);
  Type *pointer = b_.getPtrTy(), *integer = b_.getInt64Ty();
  const auto callee = e_.module.getOrInsertFunction(
      "kiln_record_out_of_range",
      llvm::FunctionType::get(b_.getVoidTy(),
                              {pointer, integer, integer, pointer, pointer, integer}, false));
  b_.CreateCall(callee, {call_.out_of_range, b_.getInt64(at(id.number)), limit, indices, flags,
                         b_.getInt64(vector ? at(lanes_) : 1)});
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

Value* MemoryEmitter::load(const Expression& x) {
  if (tiles_.row && schedule_.tiles.tiled[x.access]) return row_of_tile(x);
  Value* shuffled = in_row_block() ? load_in_block(x) : nullptr;
  if (!shuffled) shuffled = load_windows(x);
  if (shuffled) return from_memory(e_, x.dtype, shuffled);
  const Address from = address_of(x.access);
  const bool is_in_memory = !uses_scratch(kernel_.accesses[x.access].operand);
  if (from.contiguous && is_in_memory) prefetch_next_row(x.access, from.pointer, false);
  const bool vector = from.contiguous || from.pointer->getType()->isVectorTy();
  Value* allowed = from.allowed && vector ? splat(from.allowed) : nullptr;
  return load_at(from, vector, allowed, x.dtype);
}

Value* MemoryEmitter::load_scalar(const Address& from, Type* element, DType dtype) {
  Value* pointer = from.pointer;
  if (from.allowed) pointer = b_.CreateSelect(from.allowed, pointer, zeros(element));
  return b_.CreateAlignedLoad(element, pointer, alignment(dtype));
}

Value* MemoryEmitter::zeros(Type* type) {
  Value*& known = zeros_[type];
  if (known) return known;
  const llvm::IRBuilder<>::InsertPointGuard guard(b_);
  b_.SetInsertPoint(entry_, entry_->begin());
  known = b_.CreateAlloca(type);
  b_.CreateStore(llvm::Constant::getNullValue(type), known);
  return known;
}

Value* MemoryEmitter::load_for_lanes(const Address& from, Type* element, DType dtype) {
  const Address one{from.pointer, false, b_.CreateOrReduce(from.allowed)};
  Value* value = splat(from_memory(e_, dtype, load_scalar(one, element, dtype)));
  return b_.CreateSelect(from.allowed, value, llvm::Constant::getNullValue(value->getType()));
}

bool MemoryEmitter::has_masked_loads(DType dtype) const {
  if (e_.target.isa == Isa::Avx512) return true;
  return e_.target.isa == Isa::Avx2 && dtype_bytes(dtype) >= 4;
}

Value* MemoryEmitter::opaque(Value* mask, DType dtype) {
  const bool in_register = e_.target.isa == Isa::Avx2 && has_masked_loads(dtype);
  if (llvm::isa<llvm::Constant>(mask) || !in_register) return mask;
  const auto bits = static_cast<unsigned>(8 * dtype_bytes(dtype));
  Type* type = e_.with_lanes_of(b_.getIntNTy(bits), mask->getType());
  auto* copy = llvm::InlineAsm::get(llvm::FunctionType::get(type, {type}, false), "", "=x,0",
                                    /*hasSideEffects=*/false);
  Value* copied = b_.CreateCall(copy, {b_.CreateSExt(mask, type)});
  return b_.CreateICmpSLT(copied, llvm::Constant::getNullValue(type));
}

Value* MemoryEmitter::masked_load(Value* pointer, llvm::VectorType* type, Value* allowed,
                                  DType dtype) {
  llvm::Type* element = type->getElementType();
  const int piece = std::max(1, e_.target.vector_bytes / static_cast<int>(dtype_bytes(dtype)));
  const auto of_piece = [&](int first) {
    std::vector<int> numbers;
    for (int lane = first; lane < std::min(first + piece, lanes_); ++lane) numbers.push_back(lane);
    return numbers;
  };
  Value* whole = nullptr;
  for (int first = 0; first < lanes_; first += piece) {
    const std::vector<int> numbers = of_piece(first);
    auto* part = llvm::FixedVectorType::get(element, static_cast<unsigned>(numbers.size()));
    Value* all = piece >= lanes_ ? allowed : b_.CreateShuffleVector(allowed, numbers);
    Value* mask = opaque(all, dtype);
    Value* from = b_.CreateConstGEP1_64(element, pointer, static_cast<std::uint64_t>(first));
    Value* loaded =
        b_.CreateMaskedLoad(part, from, alignment(dtype), mask, llvm::Constant::getNullValue(part));
    if (piece >= lanes_) return loaded;
    std::vector<int> widened(at(lanes_), -1);
    std::vector<int> joined(at(lanes_));
    for (int lane = 0; lane < lanes_; ++lane) {
      const bool is_here = lane >= first && lane < first + piece;
      if (is_here) widened[at(lane)] = lane - first;
      joined[at(lane)] = is_here ? lane + lanes_ : lane;
    }
    Value* wide = b_.CreateShuffleVector(loaded, widened);
    whole = whole ? b_.CreateShuffleVector(whole, wide, joined) : wide;
  }
  return whole;
}

Value* MemoryEmitter::load_contiguous(Value* pointer, Type* type, Value* allowed, DType dtype) {
  if (!allowed) return b_.CreateAlignedLoad(type, pointer, alignment(dtype));
  auto* vector = llvm::cast<llvm::VectorType>(type);
  const bool in_registers = e_.target.isa == Isa::Avx2 && has_masked_loads(dtype);
  if (allowed == mask_ && !in_registers) {
    return b_.CreateMaskedLoad(type, pointer, alignment(dtype), allowed,
                               llvm::Constant::getNullValue(type));
  }
  if (has_masked_loads(dtype)) return masked_load(pointer, vector, allowed, dtype);
  llvm::LLVMContext& context = e_.module.getContext();
  BasicBlock* whole = BasicBlock::Create(context, "whole", function_);
  BasicBlock* partial = BasicBlock::Create(context, "partial", function_);
  BasicBlock* after = BasicBlock::Create(context, "after", function_);
  b_.CreateCondBr(b_.CreateAndReduce(allowed), whole, partial);
  b_.SetInsertPoint(whole);
  Value* all = b_.CreateAlignedLoad(type, pointer, alignment(dtype));
  b_.CreateBr(after);
  b_.SetInsertPoint(partial);
  Value* some = masked_load(pointer, vector, allowed, dtype);
  partial = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  llvm::PHINode* loaded = b_.CreatePHI(type, 2);
  loaded->addIncoming(all, whole);
  loaded->addIncoming(some, partial);
  return loaded;
}

void MemoryEmitter::store(const Store& one) {
  const Access& access = kernel_.accesses[one.access];
  const DType dtype = kernel_.operands[access.operand].dtype;
  const bool is_final = stores_final_row(access.operand);
  const Address to = is_final ? address_in_memory(one.access) : address_of(one.access);
  const StreamSchedule& streams = schedule_.streams;
  const bool is_streamed = is_streaming_ && streams.operands[access.operand];
  if (to.contiguous && !is_streamed) prefetch_next_row(one.access, to.pointer, true);
  const bool streaming = is_streamed && (is_final || access.operand != streams.scratch_operand);
  Value* x = values_[one.value];
  const bool vector = to.contiguous || to.pointer->getType()->isVectorTy();
  if (vector) x = splat(x);
  Type* element = e_.memory_type(dtype);
  Value* allowed = to.allowed && vector ? splat(to.allowed) : nullptr;
  if (one.accumulate) {
    Value* old = load_at(to, vector, allowed, dtype);
    x = rounded(e_, dtype, emit_scalar(e_, ir::Op::Add, dtype, {old, x}));
  }
  Value* raw = to_memory(e_, dtype, x);
  if (!vector) return store_scalar(raw, to, element, dtype);
  Value* pointer = to.pointer;
  if (to.guard) pointer = b_.CreateSelect(to.guard, pointer, variable(raw->getType()));
  if (!to.contiguous) {
    b_.CreateMaskedScatter(raw, pointer, alignment(dtype), allowed);
  } else if (const int lane = only_lane(allowed); lane >= 0) {
    Value* address = b_.CreateConstGEP1_64(element, pointer, static_cast<std::uint64_t>(lane));
    b_.CreateAlignedStore(b_.CreateExtractElement(raw, at(lane)), address, alignment(dtype));
  } else if (allowed) {
    b_.CreateMaskedStore(raw, pointer, alignment(dtype), allowed);
  } else {
    llvm::StoreInst* whole = b_.CreateAlignedStore(raw, pointer, alignment(dtype));
    if (streaming) make_streaming(whole);
  }
}

void MemoryEmitter::make_streaming(llvm::StoreInst* store) {
  Type* type = store->getValueOperand()->getType();
  const std::uint64_t width = e_.module.getDataLayout().getTypeStoreSize(type).getFixedValue();
  if (width % 16 != 0) return;
  store->setAlignment(llvm::Align(width >= 64 ? 64 : width));
  llvm::LLVMContext& context = e_.module.getContext();
  llvm::Metadata* one = llvm::ConstantAsMetadata::get(b_.getInt32(1));
  store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(context, one));
}

Value* MemoryEmitter::load_at(const Address& from, bool vector, Value* allowed, DType dtype) {
  Type* element = e_.memory_type(dtype);
  const bool differs = from.allowed && from.allowed->getType()->isVectorTy();
  if (!vector && differs) return load_for_lanes(from, element, dtype);
  if (!vector) return from_memory(e_, dtype, load_scalar(from, element, dtype));
  auto* type = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_));
  Value* pointer = from.pointer;
  if (!from.contiguous) {
    llvm::Constant* none = llvm::Constant::getNullValue(type);
    return from_memory(e_, dtype,
                       b_.CreateMaskedGather(type, pointer, alignment(dtype), allowed, none));
  }
  if (from.guard) pointer = b_.CreateSelect(from.guard, pointer, zeros(type));
  return from_memory(e_, dtype, load_contiguous(pointer, type, allowed, dtype));
}

void MemoryEmitter::store_scalar(Value* raw, const Address& to, Type* element, DType dtype) {
  Value* pointer = to.pointer;
  if (to.allowed) pointer = b_.CreateSelect(to.allowed, pointer, variable(element));
  b_.CreateAlignedStore(raw, pointer, alignment(dtype));
}

}  // namespace kiln::cpu
