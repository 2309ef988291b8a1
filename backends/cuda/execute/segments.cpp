// Extends a segment while consecutive steps agree on whether they can be captured.
#include "backends/cuda/execute/segments.h"

namespace kiln::cuda {

std::vector<Segment> cut_segments(const std::vector<StepWork>& steps) {
  std::vector<Segment> segments;
  std::int64_t recorded = 0, of_segment = 0;
  const auto close = [&] {
    if (!segments.empty() && of_segment < kMinGraphOperations) segments.back().has_graph = false;
    of_segment = 0;
  };
  bool was_recorded = false;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const StepWork& step = steps[s];
    const bool fits = step.operations <= kMaxGraphOperations - recorded;
    const bool is_recorded = fits && !step.waits_for_host;
    if (segments.empty() || is_recorded != was_recorded) {
      close();
      segments.push_back({s, s, is_recorded});
      was_recorded = is_recorded;
    }
    segments.back().end = s + 1;
    if (!is_recorded) continue;
    recorded += step.operations;
    of_segment += step.operations;
  }
  close();
  return segments;
}

}  // namespace kiln::cuda
