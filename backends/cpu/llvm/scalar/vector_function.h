// Emits functions of the module, for code that is too long or has too many branches to be inlined.
#pragma once

#include "backends/cpu/llvm/scalar/emit_context.h"

#include <string>

namespace kiln::cpu {

/// An internal function without a body, compiled with the attributes of the function that `e`
/// writes.
llvm::Function* add_function(const Emit& e, const std::string& name, llvm::FunctionType* type);

/// Calls the function of that name for the types of the arguments and adds it first if it is not
/// there. All arguments and the result have one type; emit_body returns from the function.
llvm::Value* call_vector_function(const Emit& e, const char* name,
                                  llvm::ArrayRef<llvm::Value*> arguments,
                                  void (*emit_body)(const Emit& inside,
                                                    llvm::ArrayRef<llvm::Value*> arguments));

}  // namespace kiln::cpu
