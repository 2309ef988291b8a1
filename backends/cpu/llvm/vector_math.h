// Elementary functions as code for scalars or vectors of float or double. NaN gives NaN, zeros keep
// their sign in odd functions; the control register of the threads that run kernels flushes
// subnormal operands and results. Errors stay below 2 units in the last place
// (tests/cpu_llvm/vector_math_test.cpp measures them).
#pragma once

#include "backends/cpu/llvm/emit_context.h"
#include "backends/cpu/llvm/jit.h"

namespace kiln::cpu {

// vector_quotient.cpp
/// x / y by a reciprocal of y, which leaves the loop when y does not change in it; a step with the
/// remainder makes up for its rounding. REQUIRES: the target has fused multiply-add.
llvm::Value* emit_quotient(const Emit& e, llvm::Value* x, llvm::Value* y);
// vector_extreme.cpp
llvm::Value* emit_maximum(const Emit& e, llvm::Value* x, llvm::Value* y);
llvm::Value* emit_minimum(const Emit& e, llvm::Value* x, llvm::Value* y);
// vector_math.cpp: the formulas of codegen/formulas.
llvm::Value* emit_exp(const Emit& e, llvm::Value* x);
llvm::Value* emit_expm1(const Emit& e, llvm::Value* x);
llvm::Value* emit_tanh(const Emit& e, llvm::Value* x);
llvm::Value* emit_sigmoid(const Emit& e, llvm::Value* x);
/// For double: the C library, lane by lane.
llvm::Value* emit_erf(const Emit& e, llvm::Value* x);
llvm::Value* emit_log(const Emit& e, llvm::Value* x);
llvm::Value* emit_log1p(const Emit& e, llvm::Value* x);
// sin, cos and pow are calls of a function that is added to the module.
llvm::Value* emit_sin(const Emit& e, llvm::Value* x);
llvm::Value* emit_cos(const Emit& e, llvm::Value* x);
/// Special values as in C. For double: the C library, lane by lane.
llvm::Value* emit_pow(const Emit& e, llvm::Value* x, llvm::Value* y);

/// Calls the C library for each lane, without its subnormal operands and results: it works on bits,
/// where the control register has no say.
llvm::Value* emit_library_call(const Emit& e, const char* name,
                               llvm::ArrayRef<llvm::Value*> arguments);
/// What the code above may call.
std::vector<RuntimeSymbol> vector_math_symbols();

}  // namespace kiln::cpu
