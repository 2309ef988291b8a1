// A kernel that goes over each row several times walks through far memory only in its first loop,
// and waits there; while it computes, memory is idle. So the first loop that touches a row fetches
// the same places of the next one: 2.2 ms for 3.9 in a softmax of 8192 rows of 1000 (EPYC, Zen 5,
// one core). Rests of rows as well: what is stored under a mask cannot be read back before its line
// is there.
#include "backends/cpu/llvm/kernel_emitter.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

constexpr std::int64_t kLine = 64;
/// Bytes to the next row: below the first, rows share lines; more than the second would not wait in
/// the nearest caches until they are used.
constexpr std::int64_t kLeastAhead = 256, kMostAhead = std::int64_t{16} << 10;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

using llvm::Value;

bool KernelEmitter::goes_over_rows_again() const {
  if (kernel_.outer == 0 || lanes_are_outer_) return false;
  return std::count_if(groups_.begin(), groups_.end(), [&](const StageGroup& group) {
           return kernel_.stages[group.first].inner;
         }) > 1;
}

bool KernelEmitter::is_first_touch(int access) {
  const Touch now{group_, access};
  Touch& first = touched_[at(kernel_.accesses[at(access)].operand)];
  if (first.access < 0) first = now;
  return first == now;
}

Value* KernelEmitter::bytes_to_next_row(const codegen::Access& access, std::int64_t element) {
  const ir::Dim& stride = access.strides[at(kernel_.outer - 1)];
  if (!stride.is_static()) {
    Value* bytes = b_.CreateMul(size(stride), b_.getInt64(at(element)));
    Value* most = b_.getInt64(at(kMostAhead));
    return b_.CreateSelect(b_.CreateICmpULT(bytes, most), bytes, most);
  }
  const std::int64_t bytes = std::min(stride.value(), kMostAhead) * element;
  if (bytes < kLeastAhead) return nullptr;
  return size(std::min(bytes, kMostAhead));
}

void KernelEmitter::fetch_next_row(int number, Value* pointer, bool to_write) {
  const codegen::Access& access = kernel_.accesses[at(number)];
  if (!goes_over_rows_again() || access.dynamic >= 0 || !is_first_touch(number)) return;
  const DType dtype = kernel_.operands[at(access.operand)].dtype;
  const auto element = static_cast<std::int64_t>(dtype_bytes(dtype));
  Value* ahead = bytes_to_next_row(access, element);
  if (!ahead) return;
  Value* next = b_.CreateGEP(b_.getInt8Ty(), pointer, ahead);
  fetch_lines(next, lanes_ * element, to_write);
}

void KernelEmitter::fetch_lines(Value* first, std::int64_t bytes, bool to_write) {
  for (std::int64_t byte = 0; byte < bytes; byte += kLine) {
    Value* line = b_.CreateConstGEP1_64(b_.getInt8Ty(), first, at(byte));
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {line->getType()},
                       {line, b_.getInt32(to_write ? 1 : 0), b_.getInt32(3), b_.getInt32(1)});
  }
}

}  // namespace kiln::cpu
