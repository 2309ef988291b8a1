// Emits sizes and constants: as immediate values, or as parameters that the code reads from memory.
#include "backends/cpu/llvm/kernel/kernel_emitter.h"
#include "backends/cpu/llvm/kernel/kernel_key.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::cpu {
using namespace codegen;
using llvm::Value;

Value* KernelEmitter::size(const ir::Dim& dim) {
  if (dim.is_static()) return size(dim.value());
  return sizes_[at(size_argument(kernel_, dim))];
}

Value* KernelEmitter::size(std::int64_t value) {
  const bool is_small = value >= -1 && value <= 1;  // a stride or an extent that shapes the code
  return parameters_ && !is_small ? read_parameter(value) : b_.getInt64(at(value));
}

Value* KernelEmitter::read_parameter(std::int64_t value) {
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

Value* KernelEmitter::constant(const Expression& x) {
  if (!parameters_ || !is_code_parameter(x)) return splat_constant(x.dtype, x.bits, b_.getInt1Ty());
  Value* bits = b_.CreateTrunc(read_parameter(static_cast<std::int64_t>(x.bits)), b_.getInt32Ty());
  return b_.CreateBitCast(bits, b_.getFloatTy());
}

}  // namespace kiln::cpu
