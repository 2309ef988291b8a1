// State that all emitters share: builder, target, and the register form of values. In registers a
// bool is one bit, float16 and bfloat16 are float32; a value is a scalar or a vector of lanes.
#pragma once

#include "backends/cpu/schedule/target.h"
#include "core/types/kiln/dtype.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

namespace kiln::cpu {

struct Emit {
  llvm::IRBuilder<>& b;
  llvm::Module& module;
  const IsaTarget& target;

  llvm::Type* register_type(DType dtype) const;  // of a scalar
  llvm::Type* memory_type(DType dtype) const;
  /// `like`: a scalar type, or a vector one that gives the number of lanes.
  llvm::Type* with_lanes_of(llvm::Type* scalar, llvm::Type* like) const;
  llvm::Value* real(llvm::Type* type, double value) const;
  llvm::Value* integer(llvm::Type* type, std::uint64_t value) const;
  /// a * b + c: fused, with one rounding, where the target has FMA, else with two roundings.
  llvm::Value* multiply_add(llvm::Value* a, llvm::Value* b, llvm::Value* c) const;
  llvm::Value* intrinsic(llvm::Intrinsic::ID id, std::initializer_list<llvm::Value*> x) const;
  /// Calls a runtime function for each lane.
  llvm::Value* per_lane(const char* symbol, llvm::ArrayRef<llvm::Value*> arguments) const;
};

/// Convert memory form to register form and back. Half precision is converted by integer operations
/// where the target has no instruction. `to_memory` of bfloat16 drops bits: a register of a
/// half-precision dtype holds a value of it.
llvm::Value* from_memory(const Emit& e, DType dtype, llvm::Value* x);
llvm::Value* to_memory(const Emit& e, DType dtype, llvm::Value* x);
/// Rounds to the nearest value of a half-precision dtype; returns other dtypes unchanged.
llvm::Value* rounded(const Emit& e, DType dtype, llvm::Value* x);
/// Converts as the op Cast does.
llvm::Value* converted(const Emit& e, DType from, DType to, llvm::Value* x);
/// Keeps the bits, as the op Bitcast does. REQUIRES: numbers of the same size.
llvm::Value* bitcast(const Emit& e, DType from, DType to, llvm::Value* x);

}  // namespace kiln::cpu
