// Describes the three ISAs.
#include "backends/cpu/schedule/cpu_description.h"

namespace kiln::cpu {

CpuDescription description_of(const IsaTarget& target) {
  const bool is_avx512 = target.isa == Isa::Avx512;
  return {.vector_bytes = target.vector_bytes,
          .vector_registers = is_avx512 ? 32 : 16,
          .has_fma = target.has_fma,
          .has_masks = is_avx512};
}

}  // namespace kiln::cpu
