// Emits elementary functions for scalars or vectors of float or double. NaN gives NaN, zeros keep
// their sign in odd functions; the control register of threads that run kernels flushes subnormal
// operands and results. Errors stay below 2 units in the last place
// (tests/backends/cpu_llvm/vector_math_test.cpp measures them).
#pragma once

#include "backends/cpu/llvm/scalar/emit_context.h"
#include "backends/cpu/llvm/jit/jit.h"

namespace kiln::cpu {

// vector_divide.cpp
/// Emits x / y by a reciprocal of y, which is hoisted out of a loop where y is invariant; a step
/// with the remainder corrects its rounding. Of dividends below 2^-100 (float64: 2^-800), whose
/// remainders underflow, the last bit may differ. REQUIRES: the target has fused multiply-add.
llvm::Value* emit_divide(const Emit& e, llvm::Value* x, llvm::Value* y);
/// The bits of emit_divide, by fewer instructions. REQUIRES: x is from +0 to 1 and y from 1 to
/// 2^64, or NaN.
llvm::Value* emit_quotient_of_share(const Emit& e, llvm::Value* x, llvm::Value* y);
// vector_minmax.cpp
llvm::Value* emit_maximum(const Emit& e, llvm::Value* x, llvm::Value* y);
llvm::Value* emit_minimum(const Emit& e, llvm::Value* x, llvm::Value* y);
// vector_math.cpp: the formulas of codegen/formulas.
llvm::Value* emit_exp(const Emit& e, llvm::Value* x);
/// emit_exp by fewer instructions; float32 results may differ from it in the last bit. REQUIRES: x
/// is <= 0 or NaN; the target has fused multiply-add.
llvm::Value* emit_exp_of_nonpositive(const Emit& e, llvm::Value* x);
llvm::Value* emit_expm1(const Emit& e, llvm::Value* x);
llvm::Value* emit_tanh(const Emit& e, llvm::Value* x);
llvm::Value* emit_sigmoid(const Emit& e, llvm::Value* x);
llvm::Value* emit_erf(const Emit& e, llvm::Value* x);
llvm::Value* emit_atan(const Emit& e, llvm::Value* x);
llvm::Value* emit_log(const Emit& e, llvm::Value* x);
llvm::Value* emit_log1p(const Emit& e, llvm::Value* x);
// sin, cos and pow call a function that is added to the module.
llvm::Value* emit_sin(const Emit& e, llvm::Value* x);
llvm::Value* emit_cos(const Emit& e, llvm::Value* x);
/// Special values as in C. For double: the C library, lane by lane.
llvm::Value* emit_pow(const Emit& e, llvm::Value* x, llvm::Value* y);

/// Calls the C library for each lane and flushes subnormal operands and results itself: the library
/// works on bits, which the control register does not affect.
llvm::Value* emit_library_call(const Emit& e, const char* name,
                               llvm::ArrayRef<llvm::Value*> arguments);
/// Functions that the code above may call.
std::vector<RuntimeSymbol> vector_math_symbols();

}  // namespace kiln::cpu
