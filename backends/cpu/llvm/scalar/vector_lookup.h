// Emits lookups in a table that one register holds.
#pragma once

#include "backends/codegen/formulas/builder.h"
#include "backends/cpu/llvm/scalar/emit_context.h"

namespace kiln::cpu {

/// table[index modulo kLookupEntries]. `index`: an int32, or a vector of them. REQUIRES: AVX2.
llvm::Value* emit_lookup(const Emit& e, llvm::Value* index,
                         const codegen::formulas::LookupTable& table);

}  // namespace kiln::cpu
