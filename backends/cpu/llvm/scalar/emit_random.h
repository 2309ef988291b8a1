// Emits counter-based random numbers (Philox), the draws of Op::RandomUniform.
#pragma once

#include "backends/cpu/llvm/scalar/emit_context.h"

namespace kiln::cpu {

/// The keys and counters of a draw: int64 values, all scalars or all vectors.
struct DrawKeys {
  llvm::Value* seed = nullptr;
  llvm::Value* call_counter = nullptr;
  llvm::Value* position = nullptr;
  llvm::Value* element = nullptr;
  bool element_is_narrow = false;  // below 2^32
  std::uint64_t stream = 0;
};

/// Uniform in [0, 1), as Op::RandomUniform defines it.
llvm::Value* emit_uniform(const Emit& e, DType dtype, const DrawKeys& keys);

}  // namespace kiln::cpu
