// Cuts the steps of a bound plan into segments at the steps that the host waits for. A capture
// forbids synchronization, so only the steps between two cuts can be CUDA graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kiln::cuda {

/// The operations that a step queues, with loops unrolled.
struct StepWork {
  std::int64_t operations = 0;
  bool waits_for_host = false;  // has a branch, a host call, or throws; or is a collective
};

/// Consecutive steps of a plan, from `begin` up to `end`.
struct Segment {
  std::size_t begin = 0, end = 0;
  bool has_graph = false;  // else the steps are queued one by one

  bool operator==(const Segment&) const = default;
};

/// Maximum number of captured operations of one plan: instantiated graphs cost memory.
constexpr std::int64_t kMaxGraphOperations = 65536;
/// Minimum number of operations of a graph: launching a graph costs as much as one operation.
constexpr std::int64_t kMinGraphOperations = 2;

/// The segments of a plan: all steps, in order. A step that waits for the host has no graph; nor
/// has one whose operations would make more than kMaxGraphOperations with those before it.
std::vector<Segment> cut_segments(const std::vector<StepWork>& steps);

}  // namespace kiln::cuda
