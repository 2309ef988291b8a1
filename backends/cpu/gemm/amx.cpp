// Detects AMX by CPUID, as __builtin_cpu_supports of clang 14 does not know it.
#include "backends/cpu/gemm/amx.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace kiln::cpu {
namespace {

/// Bits of EDX of leaf 7: AMX-BF16 and AMX-TILE.
constexpr unsigned kAmxBf16 = 1u << 22, kAmxTile = 1u << 24;
/// ARCH_REQ_XCOMP_PERM of asm/prctl.h, and the state component of tile data.
constexpr long kRequestPermission = 0x1023, kTileData = 18;

}  // namespace

bool processor_has_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  return (d & kAmxBf16) != 0 && (d & kAmxTile) != 0 && __builtin_cpu_supports("avx512bf16") != 0;
}

bool request_amx() {
  static const bool is_permitted =
      processor_has_amx() && ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return is_permitted;
}

}  // namespace kiln::cpu
