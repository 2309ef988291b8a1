// Compares elementwise ops as C++ text with the machine code for the best ISA.
#pragma once

#include "backends/codegen/host/prepared/kernel_function.h"
#include "core/ops/op.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cpu_llvm_test {

/// Whether the processor flushes subnormal results, as in threads that run kernels. Kept ones are
/// flushed by the text alone, as for float64 on GPUs.
enum class FloatState { Keeps, Flushes };

/// False, with a warning, where the machine has no fused multiply-add.
bool has_comparable_isa();

/// The ops of one arity that take the dtype, all compiled at once.
std::vector<kiln::ir::Op> elementwise_ops(kiln::DType dtype, int arity);

class ComparedOps {
 public:
  static constexpr std::size_t kCount = 1 << 16;  // elements of a block

  /// REQUIRES: has_comparable_isa(), ops of one arity, 1 or 2.
  ComparedOps(kiln::DType dtype, std::vector<kiln::ir::Op> ops);

  /// Runs kCount elements each way; `y` is null for arity 1. Empty when all results have the same
  /// bits, where all NaNs are one and subnormal numbers are zeros; else the first difference. Not
  /// for several threads at once.
  std::string difference(const void* x, const void* y, FloatState text_state);

 private:
  struct Result {
    kiln::ir::Op op;
    kiln::DType dtype;
    std::vector<std::byte> code, text;
  };

  std::string difference_of(const Result& result, const void* x, const void* y) const;

  kiln::DType dtype_;
  std::vector<Result> results_;
  std::shared_ptr<const void> code_holder_, text_holder_;
  kiln::codegen::KernelFunction code_, text_;
};

}  // namespace cpu_llvm_test
