// Permission to use AMX, which Linux grants to a process that asks for it.
#pragma once

namespace kiln::cpu {

/// Whether the processor has AMX-BF16 and AVX512-BF16.
bool processor_has_amx();

/// Asks Linux to let this process use AMX, once; false if the processor lacks it or Linux denies
/// it. The permission holds for all threads of the process. From then on signal stacks must have
/// room for tiles: Linux denies the permission while a thread has a smaller one (sigaltstack), and
/// rejects smaller ones afterwards. It allocates the tile state of a thread when that first uses a
/// tile, and sends SIGSEGV if there is no memory for it.
bool request_amx();

}  // namespace kiln::cpu
