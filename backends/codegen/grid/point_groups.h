// Chooses the vector width and the unroll factor of kernels without inner axes (GridForm::Points).
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

constexpr int kMaxElements = 16;  // of a vector: 16 bytes
constexpr int kMaxUnroll = 4;

/// GridSchedule::elements and GridSchedule::unroll.
struct PointGroups {
  int elements = 1, unroll = 1;
};

/// The widest vectors of at most 16 bytes, unrolled until a thread has enough bytes in flight.
/// Kernels with few points get smaller groups: several elements only if at least `busy_threads`
/// threads have a group, unrolling only if at least `all_threads` have one.
PointGroups choose_point_groups(const Kernel& kernel, std::int64_t busy_threads,
                                std::int64_t all_threads);

}  // namespace kiln::codegen
