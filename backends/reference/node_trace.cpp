// Hands rows over when many were added, and at the end of the call.
#include "backends/reference/node_trace.h"

#include "backends/abi/kiln_backend_trace.h"
#include "core/ir/scope.h"
#include "core/ops/op.h"

namespace kiln::reference {
namespace {

/// Bounds the memory of a call with loops of many iterations.
constexpr std::size_t kMaxBytes = std::size_t{1} << 16;

}  // namespace

void NodeTrace::add(const Step& step, Time begin) {
  const Time end = std::chrono::steady_clock::now();
  const ir::Node& node = *step.node;
  const std::string source = source_text(module_.origin_of(node), def(node).name);
  sdk::append_trace_row(rows_, {"step", def(node).name, sdk::thread_number(), begin, end},
                        sdk::trace_arguments({{"source", source}}));
  if (rows_.size() >= kMaxBytes) hand_over();
}

void NodeTrace::hand_over() noexcept {
  if (rows_.empty()) return;
  host_.dump(label_, "trace", 0, "", "text/tab-separated-values", std::as_bytes(std::span(rows_)));
  rows_.clear();
}

}  // namespace kiln::reference
