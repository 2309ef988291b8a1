// Emits the loop nest. Lanes run along the kernel's vector axis: whole vectors, then one masked
// vector. If that axis is an outer one, a stage's inner loops run inside it and every lane is an
// output point; if it is the last inner axis, a reduction keeps partial results in lanes and
// reduces them at its end. Each expression is emitted at its loop level, the innermost loop that it
// depends on.
#include "backends/cpu/llvm/kernel/emit_kernel.h"

#include "backends/cpu/llvm/kernel/kernel_emitter.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

using namespace codegen;

CpuSchedule verified_schedule(const Kernel& kernel, const CpuDescription& cpu) {
  CpuSchedule schedule = schedule_cpu(kernel, cpu);
  verify(kernel, schedule, cpu);
  return schedule;
}

/// Called by kernels: records a call's first index out of range. `bad`: a byte per lane.
void record_out_of_range(IndexOutOfRange* record, std::int64_t access, std::int64_t limit,
                         const std::int64_t* indices, const std::uint8_t* bad, std::int64_t lanes) {
  if (record->access >= 0) return;
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    if (!bad[lane]) continue;
    *record = {access, indices[lane], limit};
    return;
  }
}

}  // namespace

using llvm::BasicBlock;
using llvm::Type;
using llvm::Value;

KernelEmitter::KernelEmitter(llvm::Module& module, const Kernel& kernel, const IsaTarget& target,
                             std::vector<std::int64_t>* parameters)
    : kernel_(kernel),
      parameters_(parameters),
      b_(module.getContext()),
      e_{b_, module, target},
      cpu_(description_of(target)),
      schedule_(verified_schedule(kernel, cpu_)),
      lanes_(schedule_.lanes),
      levels_(kernel) {
  values_.resize(kernel.expressions.size());
  index_.resize(kernel.axes.size());
  results_.resize(kernel.stages.size());
  minmax_.resize(kernel.stages.size());
  checked_rows_.resize(kernel.accesses.size());
  tiles_.memory.resize(kernel.accesses.size());
  tiles_.ahead.resize(kernel.accesses.size());
}

void KernelEmitter::run() {
  begin_function();
  compute(levels_.needed_everywhere(), 0);
  check_rows(levels_.needed_everywhere(), 0);
  if (schedule_.streams.any()) {
    streaming_loops();
  } else {
    outer_loops(0);
  }
  b_.CreateRetVoid();
}

void KernelEmitter::begin_function() {
  llvm::LLVMContext& context = e_.module.getContext();
  Type* pointer = b_.getPtrTy();
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {pointer}, false);
  function_ =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, kernel_.name, e_.module);
  function_->addFnAttr("prefer-vector-width", std::to_string(8 * e_.target.vector_bytes));
  function_->addFnAttr("min-legal-vector-width", std::to_string(8 * e_.target.vector_bytes));
  function_->addFnAttr("target-cpu", e_.target.cpu);
  function_->addFnAttr("denormal-fp-math", "preserve-sign,preserve-sign");
  function_->setDoesNotThrow();
  entry_ = BasicBlock::Create(context, "entry", function_);
  b_.SetInsertPoint(entry_);
  Value* arguments = function_->getArg(0);
  const auto field = [&](std::size_t offset, Type* of) {
    return b_.CreateLoad(of, b_.CreateConstGEP1_64(b_.getInt8Ty(), arguments, offset));
  };
  Value* buffers = field(offsetof(KernelArguments, buffers), pointer);
  Value* sizes = field(offsetof(KernelArguments, sizes), pointer);
  size_array_ = llvm::cast<llvm::Instruction>(sizes);
  begin_ = field(offsetof(KernelArguments, begin), b_.getInt64Ty());
  end_ = field(offsetof(KernelArguments, end), b_.getInt64Ty());
  out_of_range_ = field(offsetof(KernelArguments, out_of_range), pointer);
  seed_ = field(offsetof(KernelArguments, seed), b_.getInt64Ty());
  counter_ = field(offsetof(KernelArguments, call_counter), b_.getInt64Ty());
  for (std::size_t i = 0; i < kernel_.operands.size(); ++i) {
    buffers_.push_back(b_.CreateLoad(pointer, b_.CreateConstGEP1_64(pointer, buffers, i)));
  }
  for (std::size_t i = 0; i < kernel_.sizes.size(); ++i) {
    sizes_.push_back(
        b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstGEP1_64(b_.getInt64Ty(), sizes, i)));
  }
  find_points();
}

void KernelEmitter::find_points() {
  const bool checks_indices = std::any_of(kernel_.accesses.begin(), kernel_.accesses.end(),
                                          [](const Access& access) { return access.dynamic >= 0; });
  if (!checks_indices) return;
  for (const ir::Dim& extent : kernel_.axes) {
    if (extent.is_static() && extent.value() != 0) continue;
    Value* some = b_.CreateICmpNE(size(extent), b_.getInt64(0));
    has_points_ = has_points_ ? b_.CreateAnd(has_points_, some) : some;
  }
}

Value* KernelEmitter::variable(Type* type) {
  const llvm::IRBuilder<>::InsertPointGuard guard(b_);
  b_.SetInsertPoint(entry_, entry_->begin());
  return b_.CreateAlloca(type);
}

void KernelEmitter::compute(const std::vector<int>& list, int level) {
  for (const int i : list) {
    if (values_[at(i)] || levels_.level(i) > level || !is_ready(i)) continue;
    values_[at(i)] = value_of(i);
    computed_.push_back(i);
  }
}

bool KernelEmitter::is_ready(int i) const {
  const Expression& x = kernel_.expressions[at(i)];
  if (x.kind == ExpressionKind::StageResult) return results_[at(x.number)] != nullptr;
  if (x.kind == ExpressionKind::Load) {
    const Access& access = kernel_.accesses[at(x.number)];
    for (const int other : {access.dynamic, access.when}) {
      if (other >= 0 && !values_[at(other)]) return false;
    }
  }
  return std::all_of(x.arguments.begin(), x.arguments.end(),
                     [&](int argument) { return argument < 0 || values_[at(argument)]; });
}

void KernelEmitter::forget(std::size_t mark) {
  while (computed_.size() > mark) {
    values_[at(computed_.back())] = nullptr;
    computed_.pop_back();
  }
}

void KernelEmitter::loop(Value* first, Value* last, std::int64_t step, const Body& body) {
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

void KernelEmitter::vector_loop(Value* first, Value* last, std::optional<std::int64_t> count,
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

void KernelEmitter::masked_loop(Value* first, Value* last, const Body& body) {
  const int lanes = lanes_;
  lanes_ = width_ = schedule_.register_lanes;
  loop(first, last, lanes_, [&](Value* index) {
    mask_ = lanes_before(b_.CreateSub(last, index));
    body(index);
  });
  lanes_ = lanes;
}

void KernelEmitter::masked_rest(Value* whole, Value* last, const Body& body) {
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

Value* KernelEmitter::lanes_before(Value* count) {
  Value* lanes = b_.CreateVectorSplat(at(lanes_), b_.CreateTrunc(count, b_.getInt32Ty()));
  return b_.CreateICmpSLT(lane_numbers(b_.getInt32Ty()), lanes);
}

Value* KernelEmitter::lane_numbers(Type* type) {
  std::vector<llvm::Constant*> numbers;
  for (int lane = 0; lane < lanes_; ++lane) {
    numbers.push_back(llvm::ConstantInt::get(type, static_cast<std::uint64_t>(lane)));
  }
  return llvm::ConstantVector::get(numbers);
}

void KernelEmitter::axis_loop(int axis, const std::function<void()>& body) {
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

void KernelEmitter::axis_loop(int axis, Value* first, Value* last,
                              std::optional<std::int64_t> count,
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

void KernelEmitter::outer_loops(int axis) {
  if (axis == kernel_.outer) {
    for (const StageGroup group : schedule_.groups) run_stages(group);
    for (Value*& result : results_) result = nullptr;
    return;
  }
  if (axis == schedule_.tiles.axis) return tile_loops();
  axis_loop(axis, [&] {
    const std::vector<CheckedRow> outside = checked_rows_;
    compute(levels_.needed_everywhere(), axis + 1);
    check_rows(levels_.needed_everywhere(), axis + 1);
    prefetch_gathered_rows(axis);
    outer_loops(axis + 1);
    checked_rows_ = outside;
  });
}

void KernelEmitter::inner_loops(const std::vector<int>& needed, int axis,
                                const std::function<void()>& point) {
  if (axis == static_cast<int>(kernel_.axes.size())) return point();
  if (axis == parts_.axis) return loop_in_parts(needed, axis, point);
  axis_loop(axis, [&] {
    const std::vector<CheckedRow> outside = checked_rows_;
    compute(needed, axis + 1);
    check_rows(needed, axis + 1);
    inner_loops(needed, axis + 1, point);
    checked_rows_ = outside;
  });
}

void KernelEmitter::loop_in_parts(const std::vector<int>& needed, int axis,
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

void emit_kernel(llvm::Module& module, const Kernel& kernel, const IsaTarget& target) {
  KernelEmitter(module, kernel, target, nullptr).run();
}

std::vector<std::int64_t> emit_parametric_kernel(llvm::Module& module, const Kernel& kernel,
                                                 const IsaTarget& target) {
  std::vector<std::int64_t> parameters;
  KernelEmitter(module, kernel, target, &parameters).run();
  return parameters;
}

std::vector<RuntimeSymbol> kernel_symbols() {
  return {{"kiln_record_out_of_range", reinterpret_cast<void*>(record_out_of_range)}};
}

}  // namespace kiln::cpu
