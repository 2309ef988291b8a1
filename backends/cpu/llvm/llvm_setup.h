// What LLVM makes once in a process (targets, passes in its registries, tables of the code
// generator), made in one step before any kernel is compiled. Where memory ends meanwhile, some of
// it stays half made, and whoever needs it later would wait for ever or find it broken.
#pragma once

#include "backends/cpu/llvm/target.h"

namespace kiln::cpu {

/// Makes it at the first call of the process by compiling a small loop for `target`. Throws
/// sdk::Failure when that fails, then and from then on; only where no thread could be started does
/// the next call try again. Any thread, but none that compiles.
void set_up_llvm(const IsaTarget& target);

}  // namespace kiln::cpu
