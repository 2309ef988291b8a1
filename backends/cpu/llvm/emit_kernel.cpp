// Loops around expressions. Lanes go along the kernel's vector axis: whole vectors first, then one
// masked one. Where that axis is an outer one, a stage's inner loops run inside it and every lane
// is a point of its own; where it is the last inner one, lanes are combined when a reduction ends.
// Each expression is computed at the outermost loop that it depends on.
#include "backends/cpu/llvm/emit_kernel.h"

#include "backends/cpu/llvm/emit_random.h"
#include "backends/cpu/llvm/emit_scalar.h"
#include "backends/cpu/llvm/kernel_levels.h"
#include "backends/cpu/llvm/vector_math.h"

#include <algorithm>
#include <functional>

namespace kiln::cpu {
namespace {

using namespace codegen;
using llvm::BasicBlock;
using llvm::Type;
using llvm::Value;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Kernels with more expressions keep fewer vectors at a time in registers.
constexpr std::size_t kManyExpressions = 48;

/// Keeps the first fault of a part. `bad`: a byte per lane.
void note_fault(KernelFault* fault, std::int64_t access, std::int64_t limit,
                const std::int64_t* indices, const std::uint8_t* bad, std::int64_t lanes) {
  if (fault->access >= 0) return;
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    if (!bad[lane]) continue;
    *fault = {access, indices[lane], limit};
    return;
  }
}

class KernelEmitter {
 public:
  KernelEmitter(llvm::Module& module, const Kernel& kernel, const IsaTarget& target)
      : kernel_(kernel), b_(module.getContext()), e_{b_, module, target}, levels_(kernel) {
    values_.resize(kernel.expressions.size());
    index_.resize(kernel.axes.size());
    results_.resize(kernel.stages.size());
    lanes_ = kernel.vector_axis < 0 ? 1 : target.vector_bytes / widest() * vectors();
    lanes_are_outer_ = kernel.vector_axis >= 0 && kernel.vector_axis < kernel.outer;
  }

  void run() {
    begin_function();
    compute(levels_.needed_everywhere(), 0);
    outer_loops(0);
    b_.CreateRetVoid();
  }

 private:
  // ---- set up ----

  /// Bytes of the elements that most work is done in: 8 for float64, else 4.
  int widest() const {
    const bool wide = std::any_of(
        kernel_.expressions.begin(), kernel_.expressions.end(),
        [](const Expression& x) { return x.dtype == DType::Float64; });
    return wide ? 8 : 4;
  }

  /// Vectors that are worked on together. Reductions along lanes have that many accumulators, so
  /// that additions do not wait for each other; those across rows read that many neighbours.
  int vectors() const {
    const bool reduces = std::any_of(
        kernel_.stages.begin(), kernel_.stages.end(),
        [](const Stage& stage) { return stage.kind == StageKind::Reduce; });
    const ir::Dim& extent = kernel_.axes[at(kernel_.vector_axis)];
    if (!reduces || !extent.is_static()) return 1;
    const int lanes = e_.target.vector_bytes / widest();
    const bool outer = kernel_.vector_axis < kernel_.outer;
    int most = kernel_.expressions.size() > kManyExpressions ? 2 : outer ? 8 : 4;
    while (most > 1 && extent.value() < most * lanes) most /= 2;
    return most;
  }

  void begin_function() {
    llvm::LLVMContext& context = e_.module.getContext();
    Type* pointer = b_.getPtrTy();
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {pointer}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kernel_.name,
                                       e_.module);
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
    begin_ = field(offsetof(KernelArguments, begin), b_.getInt64Ty());
    end_ = field(offsetof(KernelArguments, end), b_.getInt64Ty());
    fault_ = field(offsetof(KernelArguments, fault), pointer);
    seed_ = field(offsetof(KernelArguments, seed), b_.getInt64Ty());
    counter_ = field(offsetof(KernelArguments, call_counter), b_.getInt64Ty());
    for (std::size_t i = 0; i < kernel_.operands.size(); ++i) {
      buffers_.push_back(b_.CreateLoad(pointer, b_.CreateConstGEP1_64(pointer, buffers, i)));
    }
    for (std::size_t i = 0; i < kernel_.sizes.size(); ++i) {
      sizes_.push_back(
          b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstGEP1_64(b_.getInt64Ty(), sizes, i)));
    }
  }

  Value* size(const ir::Dim& dim) {
    if (dim.is_static()) return b_.getInt64(static_cast<std::uint64_t>(dim.value()));
    return sizes_[at(size_argument(kernel_, dim))];
  }

  /// A variable in memory that becomes a register; made in the entry block.
  Value* variable(Type* type) {
    const llvm::IRBuilder<>::InsertPointGuard guard(b_);
    b_.SetInsertPoint(entry_, entry_->begin());
    return b_.CreateAlloca(type);
  }

  // ---- values that are there ----

  /// Computes those of the list that belong to loops up to `level` and are not there yet. Results
  /// of stages that have not run are left for later.
  void compute(const std::vector<int>& list, int level) {
    for (const int i : list) {
      if (values_[at(i)] || levels_.level(i) > level || !is_ready(i)) continue;
      values_[at(i)] = value_of(kernel_.expressions[at(i)]);
      computed_.push_back(i);
    }
  }

  bool is_ready(int i) const {
    const Expression& x = kernel_.expressions[at(i)];
    if (x.kind == ExpressionKind::StageResult) return results_[at(x.number)] != nullptr;
    if (x.kind == ExpressionKind::Load) {
      const int dynamic = kernel_.accesses[at(x.number)].dynamic;
      if (dynamic >= 0 && !values_[at(dynamic)]) return false;
    }
    return std::all_of(x.arguments.begin(), x.arguments.end(),
                       [&](int argument) { return argument < 0 || values_[at(argument)]; });
  }

  /// Forgets what was computed since `mark`: its block is left.
  void forget(std::size_t mark) {
    while (computed_.size() > mark) {
      values_[at(computed_.back())] = nullptr;
      computed_.pop_back();
    }
  }

  // ---- loops ----

  using Body = std::function<void(Value* index)>;

  /// for (i = first; i < last; i += step)
  void loop(Value* first, Value* last, std::int64_t step, const Body& body) {
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

  /// Whole vectors, then the rest under a mask.
  void vector_loop(Value* first, Value* last, const Body& body) {
    Value* count = b_.CreateSub(last, first);
    Value* lanes = b_.getInt64(at(lanes_));
    Value* whole = b_.CreateAdd(first, b_.CreateMul(b_.CreateSDiv(count, lanes), lanes));
    const auto* known = llvm::dyn_cast<llvm::ConstantInt>(count);
    width_ = lanes_;
    mask_ = nullptr;
    if (!known || known->getSExtValue() >= lanes_) loop(first, whole, lanes_, body);
    if (!known || known->getSExtValue() % lanes_ != 0) masked_rest(whole, last, body);
    width_ = 1;
    mask_ = nullptr;
  }

  void masked_rest(Value* whole, Value* last, const Body& body) {
    llvm::LLVMContext& context = e_.module.getContext();
    BasicBlock* rest = BasicBlock::Create(context, "rest", function_);
    BasicBlock* after = BasicBlock::Create(context, "after", function_);
    b_.CreateCondBr(b_.CreateICmpSLT(whole, last), rest, after);
    b_.SetInsertPoint(rest);
    Value* left = b_.CreateTrunc(b_.CreateSub(last, whole), b_.getInt32Ty());
    mask_ = b_.CreateICmpSLT(lane_numbers(b_.getInt32Ty()), b_.CreateVectorSplat(at(lanes_), left));
    const std::size_t mark = computed_.size();
    body(whole);
    forget(mark);
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }

  Value* lane_numbers(Type* type) {
    std::vector<llvm::Constant*> numbers;
    for (int lane = 0; lane < lanes_; ++lane) {
      numbers.push_back(llvm::ConstantInt::get(type, static_cast<std::uint64_t>(lane)));
    }
    return llvm::ConstantVector::get(numbers);
  }

  /// One loop of an axis, lanes included; the body sees index_ set.
  void axis_loop(int axis, const std::function<void()>& body) {
    Value* first = axis == 0 && kernel_.outer > 0 ? begin_ : b_.getInt64(0);
    Value* last = axis == 0 && kernel_.outer > 0 ? end_ : size(kernel_.axes[at(axis)]);
    const Body inside = [&](Value* index) {
      index_[at(axis)] = index;
      body();
    };
    if (axis == kernel_.vector_axis && lanes_ > 1) return vector_loop(first, last, inside);
    loop(first, last, 1, inside);
  }

  void outer_loops(int axis) {
    if (axis == kernel_.outer) {
      for (std::size_t s = 0; s < kernel_.stages.size(); ++s) run_stage(s);
      for (Value*& result : results_) result = nullptr;
      return;
    }
    axis_loop(axis, [&] {
      compute(levels_.needed_everywhere(), axis + 1);
      outer_loops(axis + 1);
    });
  }

  void inner_loops(const Stage& stage, int axis, const std::function<void()>& point) {
    if (axis == static_cast<int>(kernel_.axes.size())) return point();
    axis_loop(axis, [&] {
      compute(levels_.needed_by(stage), axis + 1);
      inner_loops(stage, axis + 1, point);
    });
  }

  // ---- stages ----

  void run_stage(std::size_t s) {
    const Stage& stage = kernel_.stages[s];
    compute(levels_.needed_by(stage), kernel_.outer);
    if (stage.kind == StageKind::Map) {
      const auto point = [&] {
        for (const Store& one : stage.stores) store(one);
      };
      return stage.inner ? inner_loops(stage, kernel_.outer, point) : point();
    }
    if (stage.combiner == Combiner::ArgMax) return choose(s, stage);
    combine(s, stage);
  }

  /// The type of an accumulator: lanes of outer points, or parts of one point.
  Type* accumulator_type(Type* scalar) const {
    return lanes_ > 1 ? llvm::FixedVectorType::get(scalar, static_cast<unsigned>(lanes_)) : scalar;
  }

  DType dtype_of(int expression) const { return kernel_.expressions[at(expression)].dtype; }

  void combine(std::size_t s, const Stage& stage) {
    const DType dtype = dtype_of(stage.value);
    Type* type = accumulator_type(e_.register_type(dtype));
    Value* start = splat_constant(dtype, start_bits(stage.combiner, dtype), type);
    Value* sum = variable(type);
    b_.CreateStore(start, sum);
    inner_loops(stage, kernel_.outer, [&] {
      Value* old = b_.CreateLoad(type, sum);
      Value* next = combined(stage, dtype, old);
      // Lanes beyond the end keep what they have.
      if (mask_ && !lanes_are_outer_) next = b_.CreateSelect(mask_, next, old);
      b_.CreateStore(next, sum);
      if (stage.kind == StageKind::Reduce) {
        for (const Store& one : stage.stores) store(one);
        return;
      }
      results_[s] = next;
      compute(levels_.needed_by(stage), static_cast<int>(kernel_.axes.size()));
      for (const Store& one : stage.stores) store(one);
      results_[s] = nullptr;
    });
    if (stage.kind == StageKind::Running) return;
    Value* total = b_.CreateLoad(type, sum);
    const bool across = lanes_ > 1 && !lanes_are_outer_;
    results_[s] = across ? folded(stage.combiner, dtype, total) : total;
  }

  /// old combined with the value at this point. Products are added in one rounding where that is
  /// what the machine does best.
  Value* combined(const Stage& stage, DType dtype, Value* old) {
    const Expression& x = kernel_.expressions[at(stage.value)];
    const bool product = x.kind == ExpressionKind::Apply && x.op == ir::Op::Mul &&
                         is_float(dtype) && stage.combiner == Combiner::Sum;
    if (product && e_.target.has_fma) {
      return e_.multiply_add(in_lanes(x.arguments[0]), in_lanes(x.arguments[1]), old);
    }
    return apply(stage.combiner, dtype, old, in_lanes(stage.value));
  }

  Value* apply(Combiner combiner, DType dtype, Value* x, Value* y) {
    const bool truth = dtype == DType::Bool;
    ir::Op op = ir::Op::Add;
    if (combiner == Combiner::Prod) op = ir::Op::Mul;
    if (combiner == Combiner::Max) op = truth ? ir::Op::Or : ir::Op::Maximum;
    if (combiner == Combiner::Min) op = truth ? ir::Op::And : ir::Op::Minimum;
    return emit_scalar(e_, op, dtype, {x, y});
  }

  /// All lanes combined, halves first: the order depends on the number of lanes alone.
  Value* folded(Combiner combiner, DType dtype, Value* x) {
    for (int half = lanes_ / 2; half >= 1; half /= 2) {
      std::vector<int> upper, lower;
      for (int lane = 0; lane < half; ++lane) {
        lower.push_back(lane);
        upper.push_back(lane + half);
      }
      x = apply(combiner, dtype, b_.CreateShuffleVector(x, lower),
                b_.CreateShuffleVector(x, upper));
    }
    return b_.CreateExtractElement(x, std::uint64_t{0});
  }

  /// ArgMax: the best value and its place in every lane, then over the lanes.
  void choose(std::size_t s, const Stage& stage) {
    const DType dtype = dtype_of(stage.value);
    Type* type = accumulator_type(e_.register_type(dtype));
    Type* places = accumulator_type(b_.getInt64Ty());
    Value* best = variable(type);
    Value* place = variable(places);
    b_.CreateStore(splat_constant(dtype, start_bits(Combiner::Max, dtype), type), best);
    b_.CreateStore(llvm::Constant::getAllOnesValue(places), place);
    inner_loops(stage, kernel_.outer, [&] {
      Value* x = in_lanes(stage.value);
      Value* here = axis_index(static_cast<int>(kernel_.axes.size()) - 1);
      if (!here->getType()->isVectorTy() && lanes_ > 1) {
        here = b_.CreateVectorSplat(at(lanes_), here);
      }
      Value *old = b_.CreateLoad(type, best), *old_place = b_.CreateLoad(places, place);
      Value* better = is_better(dtype, x, here, old, old_place);
      if (mask_ && !lanes_are_outer_) better = b_.CreateAnd(better, mask_);
      b_.CreateStore(b_.CreateSelect(better, x, old), best);
      b_.CreateStore(b_.CreateSelect(better, here, old_place), place);
    });
    Value *values = b_.CreateLoad(type, best), *indices = b_.CreateLoad(places, place);
    if (lanes_ == 1 || lanes_are_outer_) {
      results_[s] = indices;
      return;
    }
    Value* chosen = b_.CreateExtractElement(values, std::uint64_t{0});
    Value* index = b_.CreateExtractElement(indices, std::uint64_t{0});
    for (int lane = 1; lane < lanes_; ++lane) {
      Value* other = b_.CreateExtractElement(values, static_cast<std::uint64_t>(lane));
      Value* other_index = b_.CreateExtractElement(indices, static_cast<std::uint64_t>(lane));
      Value* better = is_better(dtype, other, other_index, chosen, index);
      better = b_.CreateAnd(better, b_.CreateICmpSGE(other_index, b_.getInt64(0)));
      chosen = b_.CreateSelect(better, other, chosen);
      index = b_.CreateSelect(better, other_index, index);
    }
    results_[s] = index;
  }

  /// Larger, NaN largest; of equals the earlier one; anything beats a place that is not set.
  Value* is_better(DType dtype, Value* x, Value* here, Value* old, Value* old_place) {
    Value* unset = b_.CreateICmpSLT(old_place, llvm::Constant::getNullValue(old_place->getType()));
    Value* earlier = b_.CreateICmpSLT(here, old_place);
    Value *above, *equal;
    if (is_float(dtype)) {
      Value* nan = b_.CreateFCmpUNO(x, x);
      Value* old_nan = b_.CreateFCmpUNO(old, old);
      above = b_.CreateOr(b_.CreateFCmpOGT(x, old), b_.CreateAnd(nan, b_.CreateNot(old_nan)));
      equal = b_.CreateOr(b_.CreateFCmpOEQ(x, old), b_.CreateAnd(nan, old_nan));
    } else {
      const bool is_signed = info(dtype).kind == DTypeKind::Signed;
      above = is_signed ? b_.CreateICmpSGT(x, old) : b_.CreateICmpUGT(x, old);
      equal = b_.CreateICmpEQ(x, old);
    }
    return b_.CreateOr(unset, b_.CreateOr(above, b_.CreateAnd(equal, earlier)));
  }

  // ---- values ----

  Value* splat_constant(DType dtype, std::uint64_t bits, Type* type) {
    Type* memory = e_.memory_type(dtype);
    const unsigned width = memory->getScalarSizeInBits();
    llvm::Constant* raw =
        llvm::ConstantInt::get(b_.getIntNTy(width), llvm::APInt(width, bits, false, true));
    Value* scalar = from_memory(e_, dtype, b_.CreateBitCast(raw, memory));
    return type->isVectorTy() ? b_.CreateVectorSplat(at(lanes_), scalar) : scalar;
  }

  bool in_vector() const { return width_ > 1; }

  Value* spread(Value* x) {
    return x->getType()->isVectorTy() ? x : b_.CreateVectorSplat(at(lanes_), x);
  }
  /// The value with lanes, where the code around has them.
  Value* in_lanes(int expression) {
    Value* x = values_[at(expression)];
    return in_vector() ? spread(x) : x;
  }

  Value* axis_index(int axis) {
    Value* index = index_[at(axis)];
    if (axis != kernel_.vector_axis || !in_vector()) return index;
    return b_.CreateAdd(b_.CreateVectorSplat(at(lanes_), index), lane_numbers(b_.getInt64Ty()));
  }

  Value* value_of(const Expression& x) {
    switch (x.kind) {
      case ExpressionKind::Constant: return splat_constant(x.dtype, x.bits, b_.getInt1Ty());
      case ExpressionKind::AxisIndex: return axis_index(x.number);
      case ExpressionKind::SizeValue: return sizes_[at(x.number)];
      case ExpressionKind::Load: return load(x);
      case ExpressionKind::StageResult: return results_[at(x.number)];
      case ExpressionKind::Random: return random(x);
      case ExpressionKind::Convert:
        return converted(e_, dtype_of(x.arguments[0]), x.dtype, values_[at(x.arguments[0])]);
      case ExpressionKind::Apply: break;
    }
    const int arity = ir::def(x.op).arity;
    std::vector<Value*> arguments;
    bool vector = false;
    for (int i = 0; i < arity; ++i) {
      arguments.push_back(values_[at(x.arguments[at(i)])]);
      vector = vector || arguments.back()->getType()->isVectorTy();
    }
    if (vector) {
      for (Value*& argument : arguments) argument = spread(argument);
    }
    const DType operand = dtype_of(x.arguments[at(arity - 1)]);
    if (divides_by_invariant(x)) return emit_quotient(e_, arguments[0], arguments[1]);
    return rounded(e_, x.dtype, emit_scalar(e_, x.op, operand, arguments));
  }

  /// Whether a float is divided by one that belongs to a loop further out.
  bool divides_by_invariant(const Expression& x) const {
    if (x.op != ir::Op::Div || !e_.target.has_fma) return false;
    if (x.dtype != DType::Float32 && x.dtype != DType::Float64) return false;
    return levels_.level(x.arguments[1]) < levels_.level(x.arguments[0]) && width_ > 1;
  }

  // ---- memory ----

  struct Place {
    Value* pointer = nullptr;  // of the first lane, or of each lane
    bool together = false;     // lanes are neighbours
    Value* allowed = nullptr;  // lanes (or the scalar) that may be touched; null: all
  };

  /// Element offset of the scalar part: all but what differs between lanes.
  Value* scalar_offset(const Access& access) {
    Value* offset = size(access.offset);
    for (std::size_t axis = 0; axis < access.strides.size(); ++axis) {
      const ir::Dim& stride = access.strides[axis];
      if (stride == ir::Dim(0)) continue;
      offset = b_.CreateAdd(offset, b_.CreateMul(index_[axis], size(stride)));
    }
    return offset;
  }

  Place place(int number) {
    const Access& access = kernel_.accesses[at(number)];
    Type* element = e_.memory_type(kernel_.operands[at(access.operand)].dtype);
    Value* base = buffers_[at(access.operand)];
    Value* offset = scalar_offset(access);
    Place result;
    Value *dynamic = nullptr, *inside = nullptr;
    if (access.dynamic >= 0) {
      dynamic = values_[at(access.dynamic)];
      inside = checked_index(number, access, dynamic);
      dynamic = b_.CreateMul(dynamic, same_shape(size(access.dynamic_stride), dynamic));
      if (!dynamic->getType()->isVectorTy()) offset = b_.CreateAdd(offset, dynamic);
    }
    const bool scattered = dynamic && dynamic->getType()->isVectorTy();
    const bool along = in_vector() && levels_.varies_along(access);
    result.allowed = inside;
    if (!along && !scattered) {
      result.pointer = b_.CreateGEP(element, base, offset);
      return result;
    }
    if (mask_) result.allowed = inside ? b_.CreateAnd(spread(inside), mask_) : mask_;
    const bool unit = along && access.strides[at(kernel_.vector_axis)].is_one();
    if (unit && !scattered) {
      result.pointer = b_.CreateGEP(element, base, offset);
      result.together = true;
      return result;
    }
    Value* offsets = b_.CreateVectorSplat(at(lanes_), offset);
    if (along) {
      Value* stride = spread(size(access.strides[at(kernel_.vector_axis)]));
      offsets = b_.CreateAdd(offsets, b_.CreateMul(lane_numbers(b_.getInt64Ty()), stride));
    }
    if (scattered) offsets = b_.CreateAdd(offsets, dynamic);
    result.pointer = b_.CreateGEP(element, base, offsets);
    return result;
  }

  Value* same_shape(Value* scalar, Value* like) {
    return like->getType()->isVectorTy() ? b_.CreateVectorSplat(at(lanes_), scalar) : scalar;
  }

  /// Notes indices that are outside; gives which are not.
  Value* checked_index(int number, const Access& access, Value* index) {
    Value* limit = size(access.dynamic_limit);
    Value* inside = b_.CreateICmpULT(index, same_shape(limit, index));
    Value* bad = b_.CreateNot(inside);
    if (mask_ && in_vector()) {
      bad = bad->getType()->isVectorTy() ? b_.CreateAnd(bad, mask_) : bad;
    }
    report(number, limit, index, bad);
    return inside;
  }

  void report(int number, Value* limit, Value* index, Value* bad) {
    llvm::LLVMContext& context = e_.module.getContext();
    const bool vector = bad->getType()->isVectorTy();
    Value* any = vector ? b_.CreateOrReduce(bad) : bad;
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
        "kiln_note_fault",
        llvm::FunctionType::get(b_.getVoidTy(),
                                {pointer, integer, integer, pointer, pointer, integer}, false));
    b_.CreateCall(callee, {fault_, b_.getInt64(at(number)), limit, indices, flags,
                           b_.getInt64(vector ? at(lanes_) : 1)});
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }

  llvm::Align alignment(DType dtype) const { return llvm::Align(dtype_bytes(dtype)); }

  Value* load(const Expression& x) {
    const Place from = place(x.number);
    const bool vector = from.together || from.pointer->getType()->isVectorTy();
    Value* allowed = from.allowed && vector ? spread(from.allowed) : nullptr;
    return load_at(from, vector, allowed, x.dtype);
  }

  /// One element; a place of zeros stands in where the access is not allowed.
  Value* load_scalar(const Place& from, Type* element, DType dtype) {
    Value* pointer = from.pointer;
    if (from.allowed) {
      Value* zero = variable(element);
      b_.CreateStore(llvm::Constant::getNullValue(element), zero);
      pointer = b_.CreateSelect(from.allowed, pointer, zero);
    }
    return b_.CreateAlignedLoad(element, pointer, alignment(dtype));
  }

  void store(const Store& one) {
    const Access& access = kernel_.accesses[at(one.access)];
    const DType dtype = kernel_.operands[at(access.operand)].dtype;
    const Place to = place(one.access);
    Value* x = values_[at(one.value)];
    const bool vector = to.together || to.pointer->getType()->isVectorTy();
    if (vector) x = spread(x);
    Type* element = e_.memory_type(dtype);
    Value* allowed = to.allowed && vector ? spread(to.allowed) : nullptr;
    if (one.accumulate) {
      Value* old = load_at(to, vector, allowed, dtype);
      x = rounded(e_, dtype, emit_scalar(e_, ir::Op::Add, dtype, {old, x}));
    }
    Value* raw = to_memory(e_, dtype, x);
    if (!vector) return store_scalar(raw, to, element, dtype);
    if (!to.together) {
      b_.CreateMaskedScatter(raw, to.pointer, alignment(dtype), allowed);
    } else if (allowed) {
      b_.CreateMaskedStore(raw, to.pointer, alignment(dtype), allowed);
    } else {
      b_.CreateAlignedStore(raw, to.pointer, alignment(dtype));
    }
  }

  Value* load_at(const Place& from, bool vector, Value* allowed, DType dtype) {
    Type* element = e_.memory_type(dtype);
    if (!vector) return from_memory(e_, dtype, load_scalar(from, element, dtype));
    auto* type = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_));
    llvm::Constant* none = llvm::Constant::getNullValue(type);
    Value* raw = nullptr;
    if (!from.together) {
      raw = b_.CreateMaskedGather(type, from.pointer, alignment(dtype), allowed, none);
    } else if (allowed) {
      raw = b_.CreateMaskedLoad(type, from.pointer, alignment(dtype), allowed, none);
    } else {
      raw = b_.CreateAlignedLoad(type, from.pointer, alignment(dtype));
    }
    return from_memory(e_, dtype, raw);
  }

  void store_scalar(Value* raw, const Place& to, Type* element, DType dtype) {
    Value* pointer = to.pointer;
    if (to.allowed) pointer = b_.CreateSelect(to.allowed, pointer, variable(element));
    b_.CreateAlignedStore(raw, pointer, alignment(dtype));
  }

  Value* random(const Expression& x) {
    Value* position = values_[at(x.arguments[0])];
    Value* element = values_[at(x.arguments[1])];
    const bool vector = position->getType()->isVectorTy() || element->getType()->isVectorTy();
    const auto shaped = [&](Value* v) { return vector ? spread(v) : v; };
    Value* seed = b_.CreateXor(seed_, b_.getInt64(static_cast<std::uint64_t>(x.seed)));
    return emit_uniform(e_, x.dtype, {shaped(seed), shaped(counter_), shaped(position),
                                      shaped(element), static_cast<std::uint32_t>(x.stream)});
  }

  const Kernel& kernel_;
  llvm::IRBuilder<> b_;
  Emit e_;
  int lanes_ = 1;
  bool lanes_are_outer_ = false;
  llvm::Function* function_ = nullptr;
  BasicBlock* entry_ = nullptr;
  Value *begin_ = nullptr, *end_ = nullptr, *fault_ = nullptr, *seed_ = nullptr,
        *counter_ = nullptr;
  std::vector<Value*> buffers_, sizes_;
  KernelLevels levels_;
  // While emitting: what is computed, and the loops around.
  std::vector<Value*> values_, index_, results_;
  std::vector<int> computed_;
  int width_ = 1;
  Value* mask_ = nullptr;
};

}  // namespace

void emit_kernel(llvm::Module& module, const Kernel& kernel, const IsaTarget& target) {
  KernelEmitter(module, kernel, target).run();
}

std::vector<RuntimeSymbol> kernel_symbols() {
  return {{"kiln_note_fault", reinterpret_cast<void*>(note_fault)}};
}

}  // namespace kiln::cpu
