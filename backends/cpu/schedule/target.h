// ISAs of x86-64 that kernels are compiled for. Includes no LLVM: the rest of the backend uses it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kiln::cpu {

/// In ascending order: each ISA includes those before it.
enum class Isa : std::uint8_t {
  Baseline,  // every x86-64: SSE2
  Avx2,      // x86-64-v3: AVX2, FMA, F16C, BMI, LZCNT, MOVBE
  Avx512,    // and AVX-512 F, CD, DQ, BW, VL, with 512-bit vectors preferred
};

/// The properties of an ISA that code generation uses.
struct IsaTarget {
  Isa isa = Isa::Baseline;
  std::string cpu;       // as LLVM names it
  int vector_bytes = 16;
  bool has_fma = false;
  bool has_f16c = false;
  bool has_avx512_bf16 = false;
};

/// The features of a processor, enabled by its operating system, that ISAs need.
struct Processor {
  bool avx2 = false, fma = false, f16c = false, bmi = false, bmi2 = false, lzcnt = false,
       movbe = false;
  bool avx512f = false, avx512cd = false, avx512dq = false, avx512bw = false, avx512vl = false;
};

/// With AVX512-BF16 where the ISA is Avx512 and this machine has it.
IsaTarget target_of(Isa isa);
/// Returns the highest ISA of which the processor has every feature: LLVM uses all of them.
Isa isa_of(const Processor& processor);
/// Returns the highest ISA that this machine and its operating system run.
Isa native_isa();
/// "baseline", "avx2", "avx512".
std::string_view name_of(Isa isa);

}  // namespace kiln::cpu
