// Compares kernels as machine code with the interpreter: both must leave the same memory.
#pragma once

#include "tests/backends/codegen/make_kernel.h"

namespace cpu_llvm_test {

struct EmitCase {
  kiln::codegen::Kernel kernel;
  std::vector<kiln::test::KernelCall> calls;
  int units = 0;  // in the last place, that floats may be apart; NaN is NaN in any case
  std::size_t alignment = 16;  // of the operands' first elements, and of nothing larger
};

/// Compiles all cases for each ISA of this machine, as one program, and checks every byte of
/// every operand, and the index out of range, after each call.
void check_emitted(const std::vector<EmitCase>& cases);

inline constexpr kiln::DType kFloats[] = {kiln::DType::Float16, kiln::DType::BFloat16,
                                          kiln::DType::Float32, kiln::DType::Float64};
inline constexpr kiln::DType kIntegers[] = {
    kiln::DType::Int8,  kiln::DType::Int16,  kiln::DType::Int32,  kiln::DType::Int64,
    kiln::DType::UInt8, kiln::DType::UInt16, kiln::DType::UInt32, kiln::DType::UInt64};
/// Floats, integers and bool.
std::vector<kiln::DType> every_dtype();

/// The values converted to the dtype, as Cast does.
kiln::test::Memory filled(kiln::DType dtype, const std::vector<double>& values);
/// Whole numbers from `low` to `high`, in random order.
std::vector<double> whole_numbers(std::size_t count, int low, int high);
/// Whole numbers from -9 to 9, in random order.
inline kiln::test::Memory whole_memory(kiln::DType dtype, int count) {
  return filled(dtype, whole_numbers(static_cast<std::size_t>(count), -9, 9));
}

}  // namespace cpu_llvm_test
