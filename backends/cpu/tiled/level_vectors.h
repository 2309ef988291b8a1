// The vectors of a level of instructions, chosen by the options that the including file is compiled
// with; nothing here has a name outside of that file.
#pragma once

#include "backends/cpu/tiled/micro_kernel.h"

#if defined(__AVX2__)
#include <immintrin.h>
#else
#include <xmmintrin.h>
#endif

namespace kiln::cpu {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16, kMostRows = 14, kRegisters = 32;
#elif defined(__AVX2__)
constexpr int kLanes = 8, kMostRows = 6, kRegisters = 16;
#else
constexpr int kLanes = 4, kMostRows = 4, kRegisters = 16;
#endif
constexpr int kPanelVectors = 2, kPanel = kPanelVectors * kLanes;
constexpr int kLine = 16;  // numbers of a line of memory

typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));
typedef float Unaligned __attribute__((vector_size(kLanes * sizeof(float)), aligned(4)));

/// The first `count` numbers of a vector in memory; what lies behind is neither read (0 stands for
/// it) nor written.
#if defined(__AVX512F__)
inline __mmask16 lanes_below(int count) { return static_cast<__mmask16>((1u << count) - 1); }
inline Vector load_some(const float* from, int count) {
  return static_cast<Vector>(_mm512_maskz_loadu_ps(lanes_below(count), from));
}
inline void store_some(const Vector& from, float* to, int count) {
  _mm512_mask_storeu_ps(to, lanes_below(count), static_cast<__m512>(from));
}
#elif defined(__AVX2__)
inline __m256i lanes_below(int count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline Vector load_some(const float* from, int count) {
  return static_cast<Vector>(_mm256_maskload_ps(from, lanes_below(count)));
}
inline void store_some(const Vector& from, float* to, int count) {
  _mm256_maskstore_ps(to, lanes_below(count), static_cast<__m256>(from));
}
#else
inline Vector load_some(const float* from, int count) {
  return Vector{from[0], count > 1 ? from[1] : 0.0f, count > 2 ? from[2] : 0.0f, 0.0f};
}
inline void store_some(const Vector& from, float* to, int count) {
  to[0] = from[0];
  if (count > 1) to[1] = from[1];
  if (count > 2) to[2] = from[2];
}
#endif

inline long long smaller(long long a, long long b) { return a < b ? a : b; }

}  // namespace
}  // namespace kiln::cpu
