// Emits the scalar meaning of every elementwise op.
#pragma once

#include "backends/cpu/llvm/scalar/emit_context.h"
#include "backends/cpu/llvm/jit/jit.h"
#include "core/ops/op.h"

namespace kiln::cpu {

/// `dtype`: of the operands (of the last two for Select). `x` is in register form, all scalars or
/// all vectors; the result is not yet rounded to half precision.
llvm::Value* emit_scalar(const Emit& e, ir::Op op, DType dtype, llvm::ArrayRef<llvm::Value*> x);

/// Functions of the C library and of this backend that the code may call.
std::vector<RuntimeSymbol> scalar_symbols();

}  // namespace kiln::cpu
