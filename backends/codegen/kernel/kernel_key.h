// Computes keys of kernels: equal keys mean equal machine code.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <string>

namespace kiln::codegen {

/// Serialises all of a kernel but its names to bytes that are only compared. Kernels with equal
/// keys have equal machine code on one target, in any program.
std::string key_of(const Kernel& kernel);

/// key_of without static sizes and parameter constants: equal for kernels that may share parametric
/// code. Empty where a kernel can have none.
std::string parametric_key_of(const Kernel& kernel);

/// Whether parametric code may read the constant from memory: a float32 from 3 to 2^24, such as the
/// count that a mean divides by. Arithmetic with it has the same bits whether or not the code
/// generator knows it; operations with smaller constants are simplified by the code generator.
bool is_code_parameter(const Expression& constant);

}  // namespace kiln::codegen
