// Emits the entry of a kernel's function: its arguments, sizes as immediate values or as parameters
// that the code reads from memory, and variables.
#include "backends/cpu/llvm/kernel/function_frame.h"

#include "backends/codegen/host/prepared/kernel_function.h"
#include "core/types/at.h"

#include <algorithm>
#include <cstddef>

namespace kiln::cpu {

using namespace codegen;
using llvm::BasicBlock;
using llvm::Type;
using llvm::Value;

FunctionFrame::FunctionFrame(llvm::Module& module, const Kernel& kernel, const IsaTarget& target,
                             std::vector<std::int64_t>* parameters)
    : kernel_(kernel), b_(module.getContext()), e_{b_, module, target}, parameters_(parameters) {}

void FunctionFrame::begin_function() {
  llvm::LLVMContext& context = e_.module.getContext();
  Type* pointer = b_.getPtrTy();
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {pointer}, false);
  function_ =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, kernel_.name, e_.module);
  function_->addFnAttr("prefer-vector-width", std::to_string(8 * e_.target.vector_bytes));
  function_->addFnAttr("min-legal-vector-width", std::to_string(8 * e_.target.vector_bytes));
  function_->addFnAttr("target-cpu", e_.target.cpu);
  add_denormal_modes();
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
  call_.out_of_range = field(offsetof(KernelArguments, out_of_range), pointer);
  call_.seed = field(offsetof(KernelArguments, seed), b_.getInt64Ty());
  call_.counter = field(offsetof(KernelArguments, call_counter), b_.getInt64Ty());
  for (const OperandId i : kernel_.operands.ids()) {
    buffers_.push_back(
        b_.CreateLoad(pointer, b_.CreateConstGEP1_64(pointer, buffers, at(i.number))));
  }
  for (std::size_t i = 0; i < kernel_.sizes.size(); ++i) {
    sizes_.push_back(
        b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstGEP1_64(b_.getInt64Ty(), sizes, i)));
  }
  find_points();
}

void FunctionFrame::add_denormal_modes() {
  const char* const flushed = "preserve-sign,preserve-sign";
  // The general mode is that of half, too, whose subnormals keep their values: LLVM would fold
  // 0 + 1e-7 of a float16 to 0.
  const bool has_halves =
      std::any_of(kernel_.expressions.begin(), kernel_.expressions.end(),
                  [](const Expression& expression) { return expression.dtype == DType::Float16; });
  function_->addFnAttr("denormal-fp-math", has_halves ? "ieee,ieee" : flushed);
  if (has_halves) function_->addFnAttr("denormal-fp-math-f32", flushed);
}

void FunctionFrame::find_points() {
  const bool checks_indices = std::any_of(kernel_.accesses.begin(), kernel_.accesses.end(),
                                          [](const Access& access) { return access.dynamic; });
  if (!checks_indices) return;
  for (const ir::Dim& extent : kernel_.axes) {
    if (extent.is_static() && extent.value() != 0) continue;
    Value* some = b_.CreateICmpNE(size(extent), b_.getInt64(0));
    call_.has_points = call_.has_points ? b_.CreateAnd(call_.has_points, some) : some;
  }
}

Value* FunctionFrame::variable(Type* type) {
  const llvm::IRBuilder<>::InsertPointGuard guard(b_);
  b_.SetInsertPoint(entry_, entry_->begin());
  return b_.CreateAlloca(type);
}

Value* FunctionFrame::size(const ir::Dim& dim) {
  if (dim.is_static()) return size(dim.value());
  return sizes_[at(size_argument(kernel_, dim))];
}

Value* FunctionFrame::size(std::int64_t value) {
  const bool is_small = value >= -1 && value <= 1;  // a stride or an extent that shapes the code
  return parameters_ && !is_small ? read_parameter(value) : b_.getInt64(at(value));
}

Value* FunctionFrame::read_parameter(std::int64_t value) {
  const auto known = std::find(parameters_->begin(), parameters_->end(), value);
  const auto index = known - parameters_->begin();
  if (known != parameters_->end()) return read_parameters_[at(index)];
  const llvm::IRBuilder<>::InsertPointGuard guard(b_);
  b_.SetInsertPoint(entry_, std::next(size_array_->getIterator()));
  Value* address = b_.CreateConstGEP1_64(b_.getInt64Ty(), size_array_, at(index));
  parameters_->push_back(value);
  read_parameters_.push_back(b_.CreateLoad(b_.getInt64Ty(), address));
  return read_parameters_.back();
}

}  // namespace kiln::cpu
