// Detects the ISA of this machine.
#include "backends/cpu/schedule/target.h"

#include <cpuid.h>

namespace kiln::cpu {
namespace {

constexpr std::string_view kNames[] = {"baseline", "avx2", "avx512"};

/// __builtin_cpu_supports also tests what the operating system saves. Three features are read by
/// CPUID, since not every compiler's builtin knows their names.
Processor this_processor() {
  __builtin_cpu_init();
  Processor p;
  p.avx2 = __builtin_cpu_supports("avx2") != 0;
  p.fma = __builtin_cpu_supports("fma") != 0;
  p.bmi = __builtin_cpu_supports("bmi") != 0;
  p.bmi2 = __builtin_cpu_supports("bmi2") != 0;
  p.avx512f = __builtin_cpu_supports("avx512f") != 0;
  p.avx512cd = __builtin_cpu_supports("avx512cd") != 0;
  p.avx512dq = __builtin_cpu_supports("avx512dq") != 0;
  p.avx512bw = __builtin_cpu_supports("avx512bw") != 0;
  p.avx512vl = __builtin_cpu_supports("avx512vl") != 0;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) != 0) {
    p.f16c = (c & bit_F16C) != 0;
    p.movbe = (c & bit_MOVBE) != 0;
  }
  if (__get_cpuid(0x80000001u, &a, &b, &c, &d) != 0) p.lzcnt = (c & bit_LZCNT) != 0;
  return p;
}

}  // namespace

IsaTarget target_of(Isa isa) {
  switch (isa) {
    case Isa::Avx512:
      return {.isa = isa,
              .cpu = "x86-64-v4",
              .vector_bytes = 64,
              .has_fma = true,
              .has_f16c = true,
              .has_avx512_bf16 = __builtin_cpu_supports("avx512bf16") != 0};
    case Isa::Avx2:
      return {
          .isa = isa, .cpu = "x86-64-v3", .vector_bytes = 32, .has_fma = true, .has_f16c = true};
    case Isa::Baseline: break;
  }
  return {.isa = Isa::Baseline, .cpu = "x86-64", .vector_bytes = 16};
}

Isa isa_of(const Processor& p) {
  const bool avx2 = p.avx2 && p.fma && p.f16c && p.bmi && p.bmi2 && p.lzcnt && p.movbe;
  const bool avx512 = p.avx512f && p.avx512cd && p.avx512dq && p.avx512bw && p.avx512vl;
  if (!avx2) return Isa::Baseline;
  return avx512 ? Isa::Avx512 : Isa::Avx2;
}

Isa native_isa() { return isa_of(this_processor()); }

std::string_view name_of(Isa isa) { return kNames[static_cast<int>(isa)]; }

}  // namespace kiln::cpu
