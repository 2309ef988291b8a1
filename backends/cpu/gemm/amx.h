// Permission to use AMX, which Linux grants to a process that asks for it.
#pragma once

namespace kiln::cpu {

/// Whether this process may multiply bfloat16 by AMX tiles: the processor has AMX-BF16 and
/// AVX512-BF16, and Linux permits it. The first call asks for the permission, which holds for all
/// threads of the process. From then on signal stacks must have room for tiles: Linux denies the
/// permission while a thread has a smaller one (sigaltstack), and afterwards rejects smaller ones.
bool amx_is_usable();

}  // namespace kiln::cpu
