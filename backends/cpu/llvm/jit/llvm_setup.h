// Initialises LLVM's lazy global state (targets, registered passes, tables of the code generator)
// in one step before any kernel is compiled. If memory were exhausted during a lazy initialisation,
// that state would stay half initialised, and later compilations would deadlock or crash.
#pragma once

#include "backends/cpu/schedule/target.h"

namespace kiln::cpu {

/// Compiles a small loop for `target` at the first call of the process. Throws sdk::Failure if that
/// fails, in this call and in all later ones; only where no thread could be started does the next
/// call try again. Any thread but compile threads.
void set_up_llvm(const IsaTarget& target);

}  // namespace kiln::cpu
