// Which x86-64 instructions kernels are made of. No LLVM here: the rest of the backend asks it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kiln::cpu {

enum class IsaLevel : std::uint8_t {
  Baseline,  // every x86-64: SSE2
  Avx2,      // x86-64-v3: AVX2, FMA, F16C, BMI, LZCNT, MOVBE
  Avx512,    // and AVX-512 F, CD, DQ, BW, VL, with 512-bit vectors preferred
};

struct IsaTarget {
  IsaLevel level = IsaLevel::Baseline;
  std::string cpu;       // as LLVM names it
  int vector_bytes = 16;
  bool has_fma = false;
  bool has_f16c = false;
};

/// What a processor and its operating system have, of what a level asks for.
struct Processor {
  bool avx2 = false, fma = false, f16c = false, bmi = false, bmi2 = false, lzcnt = false,
       movbe = false;
  bool avx512f = false, avx512cd = false, avx512dq = false, avx512bw = false, avx512vl = false;
};

IsaTarget target_of(IsaLevel level);
/// The highest level that it runs: LLVM uses all that a level has.
IsaLevel level_of(const Processor& processor);
/// The highest level that this machine and its operating system run.
IsaLevel native_level();
/// "baseline", "avx2", "avx512".
std::string_view name_of(IsaLevel level);
std::optional<IsaLevel> isa_level_named(std::string_view name);

}  // namespace kiln::cpu
