// The three levels, and what this machine has.
#include "backends/cpu/llvm/target.h"

namespace kiln::cpu {
namespace {

constexpr std::string_view kNames[] = {"baseline", "avx2", "avx512"};

}  // namespace

IsaTarget target_of(IsaLevel level) {
  switch (level) {
    case IsaLevel::Avx512: return {level, "x86-64-v4", 64, true, true};
    case IsaLevel::Avx2: return {level, "x86-64-v3", 32, true, true};
    case IsaLevel::Baseline: break;
  }
  return {IsaLevel::Baseline, "x86-64", 16, false, false};
}

IsaLevel native_level() {
  // The builtin looks at what the operating system saves, too.
  __builtin_cpu_init();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl");
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  if (avx512 && avx2) return IsaLevel::Avx512;
  return avx2 ? IsaLevel::Avx2 : IsaLevel::Baseline;
}

std::string_view name_of(IsaLevel level) { return kNames[static_cast<int>(level)]; }

std::optional<IsaLevel> isa_level_named(std::string_view name) {
  for (int i = 0; i < 3; ++i) {
    if (kNames[i] == name) return static_cast<IsaLevel>(i);
  }
  return std::nullopt;
}

}  // namespace kiln::cpu
