// Hands rows over when many were added, and at the end of the call.
#include "backends/reference/step_trace.h"

#include "core/ir/scope.h"
#include "core/ops/op.h"
#include "core/types/escaped_text.h"
#include "core/types/text.h"

#include <unistd.h>

namespace kiln::reference {
namespace {

/// Bounds the memory of a call with loops of many iterations.
constexpr std::size_t kMaxBytes = std::size_t{1} << 16;

std::int64_t nanoseconds(StepTrace::Time time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace

void StepTrace::add(const Step& step, Time begin) {
  const Time end = std::chrono::steady_clock::now();
  const ir::Node& node = *step.node;
  const std::string source = source_text(module_.origin_of(node), def(node).name);
  rows_ += text("step\t", ::gettid(), "\t", nanoseconds(begin), "\t", nanoseconds(end), "\t",
                def(node).name, "\tsource\t", escaped_text(source), "\n");
  if (rows_.size() >= kMaxBytes) hand_over();
}

void StepTrace::hand_over() noexcept {
  if (rows_.empty()) return;
  host_.dump(label_, "trace", 0, "", "text/tab-separated-values", std::as_bytes(std::span(rows_)));
  rows_.clear();
}

}  // namespace kiln::reference
