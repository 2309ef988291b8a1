// Which x86-64 instructions kernels are made of. No LLVM here: the rest of the backend asks it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kiln::cpu {

enum class IsaLevel : std::uint8_t {
  Baseline,  // every x86-64: SSE2
  Avx2,      // AVX2, FMA, F16C, BMI
  Avx512,    // and AVX-512 F, CD, DQ, BW, VL, with 512-bit vectors preferred
};

struct IsaTarget {
  IsaLevel level = IsaLevel::Baseline;
  std::string cpu;       // as LLVM names it
  int vector_bytes = 16;
  bool has_fma = false;
  bool has_f16c = false;
};

IsaTarget target_of(IsaLevel level);
/// The highest level that this machine and its operating system run.
IsaLevel native_level();
/// "baseline", "avx2", "avx512".
std::string_view name_of(IsaLevel level);
std::optional<IsaLevel> isa_level_named(std::string_view name);

}  // namespace kiln::cpu
