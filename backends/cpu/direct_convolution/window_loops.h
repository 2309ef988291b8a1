// Helpers that the inner loops of convolutions share: taps in the padding, loads and stores of
// whole and partial vectors. All names have internal linkage: each ISA has its own copy.
#pragma once

#include "backends/cpu/direct_convolution/window_axis.h"
#include "backends/cpu/gemm/isa_vectors.h"

namespace kiln::cpu {
namespace {

/// Interval begin .. end - 1 of an axis of the window.
struct Interval {
  long long begin, end;
};

template <bool kWhole>
inline Vector<float> load(const float* from, int lanes) {
  if constexpr (kWhole) return load_unaligned(from);
  return load_some(from, lanes);
}

template <bool kWhole>
inline void store(const Vector<float>& from, float* to, int lanes) {
  if constexpr (kWhole) return store_unaligned<float>(from, to);
  store_some<float>(from, to, lanes);
}

inline long long ceil_of(long long numerator, long long denominator) {
  return numerator <= 0 ? 0 : (numerator + denominator - 1) / denominator;
}

/// The taps at output position `pixel` that are not in the padding.
inline Interval taps_at(const WindowAxis& axis, long long pixel) {
  const long long first = pixel * axis.stride - axis.low;
  const long long begin = smaller(axis.taps, ceil_of(-first, axis.dilation));
  return {begin, larger(begin, smaller(axis.taps, ceil_of(axis.size - first, axis.dilation)))};
}

/// The output positions that have all taps outside of the padding.
inline Interval inner_outputs(const WindowAxis& axis) {
  const long long reach = (axis.taps - 1) * axis.dilation;
  const long long first = smaller(axis.outputs, ceil_of(axis.low, axis.stride));
  const long long last = ceil_of(axis.size - reach + axis.low, axis.stride);
  return {first, larger(first, smaller(axis.outputs, last))};
}

}  // namespace
}  // namespace kiln::cpu
