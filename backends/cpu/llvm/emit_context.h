// What all emitting code shares: the builder, the target, and how values are held. In registers a
// bool is one bit, float16 and bfloat16 are float32; a value is a scalar or a vector of `lanes`.
#pragma once

#include "backends/cpu/llvm/target.h"
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
  /// a * b + c: one rounding where the target has an instruction for it, else two.
  llvm::Value* multiply_add(llvm::Value* a, llvm::Value* b, llvm::Value* c) const;
  llvm::Value* intrinsic(llvm::Intrinsic::ID id, std::initializer_list<llvm::Value*> x) const;
  /// Calls a function of the runtime for each lane.
  llvm::Value* per_lane(const char* symbol, llvm::ArrayRef<llvm::Value*> arguments) const;
};

/// Memory form to register form and back. Half precision is converted by integer operations where
/// the target has no instruction.
llvm::Value* from_memory(const Emit& e, DType dtype, llvm::Value* x);
llvm::Value* to_memory(const Emit& e, DType dtype, llvm::Value* x);
/// The nearest value of a half precision dtype; others as they are.
llvm::Value* rounded(const Emit& e, DType dtype, llvm::Value* x);
/// Cast, by its rules.
llvm::Value* converted(const Emit& e, DType from, DType to, llvm::Value* x);

}  // namespace kiln::cpu
