// Chooses the points that a thread computes at a time in kernels without inner axes.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

constexpr int kMaxElements = 16;  // of a vector: 16 bytes
constexpr int kMaxUnroll = 4;

/// As GridSchedule has them.
struct PointGroups {
  int elements = 1, unroll = 1;
};

/// Vectors of at most 16 bytes, unrolled until a thread has enough bytes in flight. Kernels of few
/// points have smaller groups: `busy_threads` have one each before it has several elements,
/// `all_threads` before several groups are unrolled.
PointGroups choose_point_groups(const Kernel& kernel, std::int64_t busy_threads,
                                std::int64_t all_threads);

}  // namespace kiln::codegen
