// Vectors are as wide as registers allow, then unrolled until a thread has enough bytes in flight.
#include "backends/codegen/grid/point_groups.h"

#include "backends/codegen/grid/static_points.h"
#include "backends/codegen/grid/vector_access.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

constexpr std::int64_t kBytesInFlight = 32;      // of a thread
constexpr std::int64_t kMaxLoadedBytes = 96 * 4;  // of a thread: 96 of its 255 registers
constexpr std::int64_t kMaxUnrolledExpressions = 2048;

/// The bytes that a group loads: of its vectors, or of its only element.
std::int64_t loaded_bytes(const Kernel& kernel, int elements) {
  const VectorAccesses found = vector_accesses(kernel, elements);
  std::int64_t bytes = 0;
  for (const AccessId access : used_accesses(kernel)) {
    const bool is_read = kernel.operands[kernel.accesses[access].operand].read;
    const bool is_vector = found.is_vector[access];
    if (is_read && (is_vector || elements == 1)) bytes += width_of(kernel, access) * elements;
  }
  return bytes;
}

}  // namespace

PointGroups choose_point_groups(const Kernel& kernel, std::int64_t busy_threads,
                                std::int64_t all_threads) {
  PointGroups groups;
  if (kernel.axes.empty()) return groups;
  const std::int64_t points = static_points(kernel.axes);
  const auto expressions = static_cast<std::int64_t>(kernel.expressions.size());
  const auto has_work = [&](std::int64_t of_thread, std::int64_t threads) {
    return points < 0 || points / of_thread >= threads;
  };
  const auto fits = [&](int elements) {
    return has_work(elements, busy_threads) && loaded_bytes(kernel, elements) <= kMaxLoadedBytes &&
           expressions * elements <= kMaxUnrolledExpressions && fits_vectors(kernel, elements);
  };
  groups.elements = widest_vector(kernel);
  while (groups.elements > 1 && !fits(groups.elements)) groups.elements /= 2;
  const std::int64_t bytes = loaded_bytes(kernel, groups.elements);
  if (bytes == 0) return groups;
  const auto can_unroll = [&](int unroll) {
    const std::int64_t group = std::int64_t{groups.elements} * unroll;
    return has_work(group, all_threads) && expressions * group <= kMaxUnrolledExpressions;
  };
  while (groups.unroll * bytes < kBytesInFlight && groups.unroll < kMaxUnroll &&
         can_unroll(2 * groups.unroll)) {
    groups.unroll *= 2;
  }
  return groups;
}

}  // namespace kiln::codegen
