// The function of a kernel: its builder, arguments, sizes and variables.
//
// Emitters are layers, each a class that extends the one below:
//   FunctionFrame  the function: arguments, sizes, variables
//   MemoryEmitter  lanes, loads, stores, prefetches
//   LoopEmitter    values of expressions, loops
//   StageEmitter   stages: reductions, scans
//   KernelEmitter  the loop nest, tiles, streaming loops
#pragma once

#include "backends/codegen/kernel/kernel.h"
#include "backends/cpu/llvm/scalar/emit_context.h"

#include <cstdint>
#include <vector>

namespace kiln::cpu {

class FunctionFrame {
 protected:
  /// `parameters` null: static sizes and constants are immediate values. Else the code reads the
  /// large ones from KernelArguments::sizes, and their values are appended to `parameters` in that
  /// order.
  FunctionFrame(llvm::Module& module, const codegen::Kernel& kernel, const IsaTarget& target,
                std::vector<std::int64_t>* parameters);
  void begin_function();
  /// Tells LLVM which subnormals count as zeros.
  void add_denormal_modes();
  void find_points();
  llvm::Value* size(const ir::Dim& dim);
  /// An immediate value, or a parameter: see the constructor.
  llvm::Value* size(std::int64_t value);
  llvm::Value* read_parameter(std::int64_t value);
  /// Allocates a variable in the entry block; SROA promotes it to a register.
  llvm::Value* variable(llvm::Type* type);
  DType dtype_of(codegen::ExpressionId expression) const {
    return kernel_.expressions[expression].dtype;
  }
  llvm::Align alignment(DType dtype) const { return llvm::Align(dtype_bytes(dtype)); }

  const codegen::Kernel& kernel_;
  llvm::IRBuilder<> b_;
  Emit e_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  std::vector<std::int64_t>* parameters_;
  llvm::Value *begin_ = nullptr, *end_ = nullptr;  // the part of axis 0
  struct Call {
    llvm::Value *out_of_range = nullptr, *seed = nullptr, *counter = nullptr;
    /// Whether no axis is empty; null: known, or of no interest. An index that no inner axis
    /// changes is loaded before their loops, and must not be reported if these are empty.
    llvm::Value* has_points = nullptr;
  };
  Call call_;
  IdVector<codegen::OperandId, llvm::Value*> buffers_;
  std::vector<llvm::Value*> sizes_;

 private:
  llvm::Instruction* size_array_ = nullptr;
  std::vector<llvm::Value*> read_parameters_;
};

}  // namespace kiln::cpu
