// Twelve independent chains of multiply-adds hide the latency of two units; the values stay small.
#include "tools/kiln/bench/multiply_add.h"

#include "tools/kiln/bench/team.h"

#include <immintrin.h>

namespace kiln::bench {
namespace {

constexpr int kChains = 12;
volatile float sink, scale = 0.999f, offset = 0.001f;

// Returns the number of operations of `rounds` rounds.
using Work = double (*)(long rounds);

__attribute__((target("avx512f"))) double work_avx512(long rounds) {
  __m512 a0 = _mm512_set1_ps(scale), a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0;
  __m512 a6 = a0, a7 = a0, a8 = a0, a9 = a0, a10 = a0, a11 = a0;
  const __m512 x = a0, y = _mm512_set1_ps(offset);
  for (long i = 0; i < rounds; ++i) {
    a0 = _mm512_fmadd_ps(a0, x, y), a1 = _mm512_fmadd_ps(a1, x, y);
    a2 = _mm512_fmadd_ps(a2, x, y), a3 = _mm512_fmadd_ps(a3, x, y);
    a4 = _mm512_fmadd_ps(a4, x, y), a5 = _mm512_fmadd_ps(a5, x, y);
    a6 = _mm512_fmadd_ps(a6, x, y), a7 = _mm512_fmadd_ps(a7, x, y);
    a8 = _mm512_fmadd_ps(a8, x, y), a9 = _mm512_fmadd_ps(a9, x, y);
    a10 = _mm512_fmadd_ps(a10, x, y), a11 = _mm512_fmadd_ps(a11, x, y);
    asm volatile("" : "+v"(a0), "+v"(a1), "+v"(a2), "+v"(a3), "+v"(a4), "+v"(a5));
    asm volatile("" : "+v"(a6), "+v"(a7), "+v"(a8), "+v"(a9), "+v"(a10), "+v"(a11));
  }
  sink = _mm512_cvtss_f32(a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11);
  return 2.0 * 16 * kChains * static_cast<double>(rounds);
}

__attribute__((target("avx2,fma"))) double work_avx2(long rounds) {
  __m256 a0 = _mm256_set1_ps(scale), a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0;
  __m256 a6 = a0, a7 = a0, a8 = a0, a9 = a0, a10 = a0, a11 = a0;
  const __m256 x = a0, y = _mm256_set1_ps(offset);
  for (long i = 0; i < rounds; ++i) {
    a0 = _mm256_fmadd_ps(a0, x, y), a1 = _mm256_fmadd_ps(a1, x, y);
    a2 = _mm256_fmadd_ps(a2, x, y), a3 = _mm256_fmadd_ps(a3, x, y);
    a4 = _mm256_fmadd_ps(a4, x, y), a5 = _mm256_fmadd_ps(a5, x, y);
    a6 = _mm256_fmadd_ps(a6, x, y), a7 = _mm256_fmadd_ps(a7, x, y);
    a8 = _mm256_fmadd_ps(a8, x, y), a9 = _mm256_fmadd_ps(a9, x, y);
    a10 = _mm256_fmadd_ps(a10, x, y), a11 = _mm256_fmadd_ps(a11, x, y);
    asm volatile("" : "+x"(a0), "+x"(a1), "+x"(a2), "+x"(a3), "+x"(a4), "+x"(a5));
    asm volatile("" : "+x"(a6), "+x"(a7), "+x"(a8), "+x"(a9), "+x"(a10), "+x"(a11));
  }
  const __m256 sum = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11;
  sink = _mm256_cvtss_f32(sum);
  return 2.0 * 8 * kChains * static_cast<double>(rounds);
}

double work_sse2(long rounds) {
  __m128 a0 = _mm_set1_ps(scale), a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0;
  const __m128 x = a0, y = _mm_set1_ps(offset);
  for (long i = 0; i < rounds; ++i) {
    a0 = _mm_add_ps(_mm_mul_ps(a0, x), y), a1 = _mm_add_ps(_mm_mul_ps(a1, x), y);
    a2 = _mm_add_ps(_mm_mul_ps(a2, x), y), a3 = _mm_add_ps(_mm_mul_ps(a3, x), y);
    a4 = _mm_add_ps(_mm_mul_ps(a4, x), y), a5 = _mm_add_ps(_mm_mul_ps(a5, x), y);
    asm volatile("" : "+x"(a0), "+x"(a1), "+x"(a2), "+x"(a3), "+x"(a4), "+x"(a5));
  }
  sink = _mm_cvtss_f32(a0 + a1 + a2 + a3 + a4 + a5);
  return 2.0 * 4 * 6 * static_cast<double>(rounds);
}

struct Choice {
  Work work;
  const char* name;
};

Choice choose() {
  if (__builtin_cpu_supports("avx512f")) return {work_avx512, "AVX-512"};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {work_avx2, "AVX2"};
  return {work_sse2, "SSE2"};
}

}  // namespace

double peak_operations(int threads) {
  static const Choice choice = choose();
  constexpr long kRounds = 200000;
  // Warm up: wide vector units reach full speed only after some time.
  choice.work(kRounds / 10);
  double operations = 0;
  const double seconds = run_together(threads, [&](int thread) {
    const double done = choice.work(kRounds);
    if (thread == 0) operations = done * threads;
  });
  return operations / seconds;
}

const char* peak_vectors() { return choose().name; }

}  // namespace kiln::bench
