// Kernels as keys: equal for kernels that compile to the same code.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <string>

namespace kiln::cpu {

/// All of a kernel but its names, as bytes that are only compared. Kernels with equal keys have
/// equal machine code on one target, whatever program they belong to.
std::string key_of(const codegen::Kernel& kernel);

/// key_of without static sizes and number constants: equal for kernels that may share code which
/// reads those from memory (emit_kernel_of_numbers). Empty where a kernel can have no such code.
std::string outline_of(const codegen::Kernel& kernel);

/// A float32 constant from 3 to 2^24, such as the count that a mean divides by. Arithmetic with it
/// has the same bits whether it is known when code is generated or not; smaller ones are operands
/// that the code generator simplifies.
bool is_number(const codegen::Expression& constant);

}  // namespace kiln::cpu
