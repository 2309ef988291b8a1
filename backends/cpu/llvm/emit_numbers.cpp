// Sizes and constants: parts of the code, or numbers that it reads from memory.
#include "backends/cpu/llvm/kernel_emitter.h"
#include "backends/cpu/llvm/kernel_key.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

using namespace codegen;
using llvm::Value;

Value* KernelEmitter::size(const ir::Dim& dim) {
  if (dim.is_static()) return size(dim.value());
  return sizes_[at(size_argument(kernel_, dim))];
}

Value* KernelEmitter::size(std::int64_t value) {
  const bool is_small = value >= -1 && value <= 1;  // a stride or an extent that shapes the code
  return numbers_ && !is_small ? read_number(value) : b_.getInt64(at(value));
}

Value* KernelEmitter::read_number(std::int64_t value) {
  const auto known = std::find(numbers_->begin(), numbers_->end(), value);
  const auto place = known - numbers_->begin();
  if (known != numbers_->end()) return read_numbers_[at(place)];
  const llvm::IRBuilder<>::InsertPointGuard guard(b_);
  b_.SetInsertPoint(entry_, std::next(size_array_->getIterator()));
  Value* address = b_.CreateConstGEP1_64(b_.getInt64Ty(), size_array_, at(place));
  numbers_->push_back(value);
  read_numbers_.push_back(b_.CreateLoad(b_.getInt64Ty(), address));
  return read_numbers_.back();
}

Value* KernelEmitter::constant(const Expression& x) {
  if (!numbers_ || !is_number(x)) return splat_constant(x.dtype, x.bits, b_.getInt1Ty());
  Value* bits = b_.CreateTrunc(read_number(static_cast<std::int64_t>(x.bits)), b_.getInt32Ty());
  return b_.CreateBitCast(bits, b_.getFloatTy());
}

}  // namespace kiln::cpu
