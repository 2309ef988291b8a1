// Conversions between float32 and the 16-bit floats, and packing with conversion. Vectors are
// converted by instructions or by integer arithmetic on their bits, so that flushing of subnormals
// does not change them: subnormal float16 is kept, subnormal float32 counts as 0.
#pragma once

#include "backends/cpu/gemm/micro_kernel_loops.h"
#include "backends/cpu/gemm/packing_loops.h"

namespace kiln::cpu {
namespace {

constexpr int kHalfLanes = kLanes<float>;  // elements that convert to one vector of float32
typedef unsigned short Halves __attribute__((vector_size(kHalfLanes * 2)));
typedef unsigned short UnalignedHalves __attribute__((vector_size(kHalfLanes * 2), aligned(2)));
using Bits = Vector<unsigned>;

/// With an instruction: GCC 12 splits a conversion of vectors into halves.
inline Vector<float> widened(const Halves& from, BFloat16Bits) {
#if defined(__AVX512F__)
  const auto wide = (Bits)_mm512_maskz_cvtepu16_epi32(0xffff, (__m256i)from);
#elif defined(__AVX2__)
  const auto wide = (Bits)_mm256_cvtepu16_epi32((__m128i)from);
#else
  const Bits wide = __builtin_convertvector(from, Bits);
#endif
  return (Vector<float>)(wide << 16);
}

/// Rounds to nearest even. NaN stays NaN: its quiet bit is set.
inline Halves narrowed(const Vector<float>& from, BFloat16Bits) {
  const Bits bits = (Bits)from, magnitude = bits & 0x7fffffffu;
  const Bits rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  const Bits kept = magnitude > 0x7f800000u ? (bits | 0x400000u) : rounded;
  return __builtin_convertvector(kept >> 16, Halves);
}

#if defined(__AVX512F__)
inline Vector<float> widened(const Halves& from, Float16Bits) {
  return (Vector<float>)_mm512_maskz_cvtph_ps(0xffff, (__m256i)from);
}
inline Halves narrowed(const Vector<float>& from, Float16Bits) {
  return (Halves)_mm512_maskz_cvtps_ph(0xffff, (__m512)from, _MM_FROUND_TO_NEAREST_INT);
}
#elif defined(__AVX2__)
inline Vector<float> widened(const Halves& from, Float16Bits) {
  return (Vector<float>)_mm256_cvtph_ps((__m128i)from);
}
inline Halves narrowed(const Vector<float>& from, Float16Bits) {
  return (Halves)_mm256_cvtps_ph((__m256)from, _MM_FROUND_TO_NEAREST_INT);
}
#else
/// Converts normal numbers by a shift and a new exponent bias, subnormal ones by a subtraction.
inline Vector<float> widened(const Halves& from, Float16Bits) {
  const Bits wide = __builtin_convertvector(from, Bits);
  const Bits sign = (wide & 0x8000u) << 16, magnitude = (wide & 0x7fffu) << 13;
  const Bits exponent = magnitude & 0x0f800000u, normal = magnitude + (112u << 23);
  const Vector<float> small = (Vector<float>)(normal + (1u << 23)) - 0x1p-14f;
  const Bits special = normal + (112u << 23);
  const Bits finite = exponent == 0u ? (Bits)small : normal;
  return (Vector<float>)((exponent == 0x0f800000u ? special : finite) | sign);
}
/// Results below the smallest normal float16 are rounded by adding 2^-1, which aligns the mantissa.
inline Halves narrowed(const Vector<float>& from, Float16Bits) {
  const Bits bits = (Bits)from, magnitude = bits & 0x7fffffffu;
  const Bits small = (Bits)((Vector<float>)magnitude + 0.5f) - 0x3f000000u;
  const Bits normal = (magnitude + (0xfffu - (112u << 23)) + ((magnitude >> 13) & 1u)) >> 13;
  Bits kept = magnitude < (113u << 23) ? small : normal;
  kept = magnitude >= 0x477ff000u ? Bits{} + 0x7c00u : kept;
  kept = magnitude > 0x7f800000u ? Bits{} + 0x7e00u : kept;
  return __builtin_convertvector(kept | ((bits >> 16) & 0x8000u), Halves);
}
#endif

template <class Half>
inline Vector<float> load_widened(const Half* from) {
  const Halves own = *reinterpret_cast<const UnalignedHalves*>(from);
  return widened(own, Half{});
}

/// Loads the first `count` elements; the others are 0 and not read.
template <class Half>
inline Vector<float> load_some_widened(const Half* from, long long count) {
  Halves own = {};
  __builtin_memcpy(&own, from, static_cast<unsigned long>(count) * sizeof(Half));
  return widened(own, Half{});
}

template <class Half>
void widen(const Half* from, float* to, long long count) {
  long long i = 0;
  for (; i + kHalfLanes <= count; i += kHalfLanes) store_unaligned(load_widened(from + i), to + i);
  if (i == count) return;
  store_some<float>(load_some_widened(from + i, count - i), to + i, static_cast<int>(count - i));
}

template <class Half>
void narrow(const float* from, Half* to, long long count) {
  long long i = 0;
  for (; i + kHalfLanes <= count; i += kHalfLanes) {
    *reinterpret_cast<UnalignedHalves*>(to + i) = narrowed(load_unaligned(from + i), Half{});
  }
  if (i == count) return;
  const auto rest = static_cast<int>(count - i);
  const Halves last = narrowed(load_some(from + i, rest), Half{});
  __builtin_memcpy(to + i, &last, static_cast<unsigned long>(rest) * sizeof(Half));
}

/// Packs some columns of a panel of an rhs with contiguous rows. The last vector of a row is read
/// whole and masked where the rhs does not end in it.
template <class Half>
inline void pack_half_rows(const PackArguments<Half, float>& a, long long column, long long columns,
                           float* to) {
  const Half* from = a.rhs + column;
  const Half* const end = a.rhs + (a.k - 1) * a.rhs_k + a.n;
  const long long rest = columns % kHalfLanes;
  Halves mask = {};
  for (long long i = 0; i < rest; ++i) mask[i] = 0xffff;
  const auto load_rest = [&](const Half* at) {
    if (end - at < kHalfLanes) return load_some_widened(at, rest);
    return widened(*reinterpret_cast<const UnalignedHalves*>(at) & mask, Half{});
  };
  for (long long d = 0; d < a.k; ++d, from += a.rhs_k, to += kPanel<float>) {
    _Pragma("GCC unroll 4") for (int v = 0; v < kPanelVectors; ++v) {
      const long long count = columns - v * kHalfLanes;
      auto* vector = reinterpret_cast<Vector<float>*>(to + v * kHalfLanes);
      *vector = count >= kHalfLanes ? load_widened(from + v * kHalfLanes)
                : count > 0         ? load_rest(from + v * kHalfLanes)
                                    : Vector<float>{};
    }
  }
}

/// Packs some columns of a panel of an rhs with any strides: widens a cache line at a time, then
/// packs it.
template <class Half>
inline void pack_half_lines(const PackArguments<Half, float>& a, long long column,
                            long long columns, float* to) {
  constexpr long long kLineK = kLine<float>;
  float lines[kPanel<float> * kLineK];
  for (long long d = 0; d < a.k; d += kLineK) {
    const long long line_k = smaller(kLineK, a.k - d);
    for (long long c = 0; c < columns; ++c) {
      const Half* from = a.rhs + (column + c) * a.rhs_n + d * a.rhs_k;
      Half own[kLineK];
      for (long long i = 0; a.rhs_k != 1 && i < line_k; ++i) own[i] = from[i * a.rhs_k];
      widen(a.rhs_k == 1 ? from : own, lines + c * kLineK, line_k);
    }
    pack<float>({.rhs = lines,
                 .rhs_k = 1,
                 .rhs_n = kLineK,
                 .k = line_k,
                 .n = columns,
                 .packed = to + d * kPanel<float>});
  }
}

template <class Half>
void pack_half(const PackArguments<Half, PackedWord>& given) {
  const PackArguments<Half, float> a{.rhs = given.rhs,
                                     .rhs_k = given.rhs_k,
                                     .rhs_n = given.rhs_n,
                                     .k = given.k,
                                     .n = given.n,
                                     .packed = &given.packed->float32};
  for (long long column = 0; column < a.n; column += kPanel<float>) {
    const long long columns = smaller(kPanel<float>, a.n - column);
    float* to = a.packed + column * a.k;
    if (a.rhs_n == 1) {
      pack_half_rows(a, column, columns, to);
    } else {
      pack_half_lines(a, column, columns, to);
    }
  }
}

template <class Half>
void widen_lhs(const HalfLhsArguments<Half>& a) {
  const bool is_transposed = a.lhs_k != 1 && a.lhs_m == 1;
  const long long outer = is_transposed ? a.k : a.m, inner = is_transposed ? a.m : a.k;
  const long long stride = is_transposed ? a.lhs_k : a.lhs_m;
  const bool is_contiguous = is_transposed || a.lhs_k == 1;
  float* to = &a.prepared->float32;
  for (long long i = 0; i < outer; ++i, to += is_transposed ? inner : a.row_words) {
    const Half* from = a.lhs + i * stride;
    if (is_contiguous) {
      widen(from, to, inner);
      continue;
    }
    for (long long d = 0; d < inner; ++d) widen(from + d * a.lhs_k, to + d, 1);
  }
}

inline void run_widened(const HalfArguments& a) {
  MicroKernelArguments<float> widened_arguments{};
  widened_arguments.lhs = &a.lhs->float32;
  widened_arguments.rhs = &a.rhs->float32;
  widened_arguments.packed = true;
  widened_arguments.result = a.sums;
  widened_arguments.m = a.m;
  widened_arguments.n = a.n;
  widened_arguments.k = a.k;
  widened_arguments.lhs_m = a.lhs_m;
  widened_arguments.lhs_k = a.lhs_k;
  widened_arguments.result_m = a.sums_m;
  widened_arguments.accumulate = a.accumulate;
  run(widened_arguments);
}

}  // namespace
}  // namespace kiln::cpu
