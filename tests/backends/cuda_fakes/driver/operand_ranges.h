// Bounds the bytes of operands that a launch certainly touches.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <vector>

namespace kiln::fake_cuda {

/// Bytes of an operand from its base on.
struct OperandRange {
  codegen::OperandId operand;
  std::int64_t begin = 0, end = 0;
};

/// The accesses without a guard that stages read or write.
std::vector<codegen::AccessId> unguarded_accesses(const codegen::Kernel& kernel);

/// Bounds of these accesses; none where an extent is 0.
std::vector<OperandRange> operand_ranges(const codegen::Kernel& kernel,
                                         const std::vector<codegen::AccessId>& accesses,
                                         const std::vector<std::int64_t>& sizes);

}  // namespace kiln::fake_cuda
