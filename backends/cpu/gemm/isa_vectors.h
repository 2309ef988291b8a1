// Vector types and masked loads and stores of the ISA that the including file is compiled for. All
// names have internal linkage: each ISA has its own copy.
#pragma once

#include "backends/cpu/gemm/micro_kernel.h"

#if defined(__AVX2__)
#include <immintrin.h>
#else
#include <emmintrin.h>
#endif

namespace kiln::cpu {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64, kMaxRows = 14, kRegisters = 32;  // kMaxRows: MR of a tile
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32, kMaxRows = 6, kRegisters = 16;
#else
constexpr int kVectorBytes = 16, kMaxRows = 4, kRegisters = 16;
#endif
constexpr int kPanelVectors = 2, kLineBytes = 64;

template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
template <class T>
constexpr int kPanel = kPanelVectors * kLanes<T>;
/// Elements of a cache line.
template <class T>
constexpr int kLine = kLineBytes / static_cast<int>(sizeof(T));

template <class T>
struct VectorTypes {
  typedef T Aligned __attribute__((vector_size(kVectorBytes)));
  typedef T Unaligned __attribute__((vector_size(kVectorBytes), aligned(sizeof(T))));
  typedef T Chunk __attribute__((vector_size(16)));
};
template <class T>
using Vector = typename VectorTypes<T>::Aligned;
template <class T>
using Unaligned = typename VectorTypes<T>::Unaligned;
/// 16 bytes: the unit that register transposes move.
template <class T>
using Chunk = typename VectorTypes<T>::Chunk;

template <class T>
inline Vector<T> load_unaligned(const T* from) {
  return *reinterpret_cast<const Unaligned<T>*>(from);
}
template <class T>
inline void store_unaligned(const Vector<T>& from, T* to) {
  *reinterpret_cast<Unaligned<T>*>(to) = from;
}

/// load_some, store_some: access the first `count` elements of a vector in memory and no memory
/// after them; the other lanes are 0. REQUIRES: 0 < count < kLanes<T>.
#if defined(__AVX512F__)
template <class T>
inline Vector<T> load_some(const T* from, int count) {
  const unsigned below = (1u << count) - 1;
  if constexpr (sizeof(T) == 8) {
    return (Vector<T>)_mm512_maskz_loadu_pd(static_cast<__mmask8>(below), from);
  } else {
    return (Vector<T>)_mm512_maskz_loadu_ps(static_cast<__mmask16>(below), from);
  }
}
template <class T>
inline void store_some(const Vector<T>& from, T* to, int count) {
  const unsigned below = (1u << count) - 1;
  if constexpr (sizeof(T) == 8) {
    _mm512_mask_storeu_pd(to, static_cast<__mmask8>(below), (__m512d)from);
  } else {
    _mm512_mask_storeu_ps(to, static_cast<__mmask16>(below), (__m512)from);
  }
}
#elif defined(__AVX2__)
template <class T>
inline __m256i lanes_below(int count) {
  if constexpr (sizeof(T) == 8) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
  } else {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
}
template <class T>
inline Vector<T> load_some(const T* from, int count) {
  if constexpr (sizeof(T) == 8) {
    return (Vector<T>)_mm256_maskload_epi64(reinterpret_cast<const long long*>(from),
                                            lanes_below<T>(count));
  } else {
    return (Vector<T>)_mm256_maskload_epi32(reinterpret_cast<const int*>(from),
                                            lanes_below<T>(count));
  }
}
template <class T>
inline void store_some(const Vector<T>& from, T* to, int count) {
  if constexpr (sizeof(T) == 8) {
    _mm256_maskstore_epi64(reinterpret_cast<long long*>(to), lanes_below<T>(count), (__m256i)from);
  } else {
    _mm256_maskstore_epi32(reinterpret_cast<int*>(to), lanes_below<T>(count), (__m256i)from);
  }
}
#else
template <class T>
inline Vector<T> load_some(const T* from, int count) {
  Vector<T> out = {};
  for (int i = 0; i < count; ++i) out[i] = from[i];
  return out;
}
template <class T>
inline void store_some(const Vector<T>& from, T* to, int count) {
  for (int i = 0; i < count; ++i) to[i] = from[i];
}
#endif

inline long long smaller(long long a, long long b) { return a < b ? a : b; }
inline long long larger(long long a, long long b) { return a > b ? a : b; }

}  // namespace
}  // namespace kiln::cpu
