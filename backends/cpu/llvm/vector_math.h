// Elementary functions as code, inlined where they are used. NaN gives NaN, subnormal results are
// zero, zeros keep their sign in odd functions.
#pragma once

#include "backends/cpu/llvm/emit_context.h"

namespace kiln::cpu {

/// x / y by a reciprocal of y, which leaves the loop when y does not change in it; a step with the
/// remainder makes up for its rounding. REQUIRES: the target has fused multiply-add.
llvm::Value* emit_quotient(const Emit& e, llvm::Value* x, llvm::Value* y);
llvm::Value* emit_exp(const Emit& e, llvm::Value* x);
llvm::Value* emit_log(const Emit& e, llvm::Value* x);
llvm::Value* emit_tanh(const Emit& e, llvm::Value* x);
llvm::Value* emit_sigmoid(const Emit& e, llvm::Value* x);

}  // namespace kiln::cpu
