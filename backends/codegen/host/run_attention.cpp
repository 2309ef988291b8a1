// Each run has its own scratch and a range of parts, whose results do not depend on the range.
#include "backends/codegen/host/run_attention.h"

#include "core/types/at.h"

namespace kiln::codegen {
namespace {

AttentionMemory memory_of(const AttentionStep& step, const ExecutionList& list) {
  AttentionMemory memory;
  for (std::size_t i = 0; i < step.operands.size(); ++i) {
    memory.operands[i] = reinterpret_cast<const float*>(list.slot(step.operands[i]));
  }
  for (std::size_t i = 0; i < step.results.size(); ++i) {
    const SlotId slot = step.results[i];
    if (slot) memory.results[i] = reinterpret_cast<float*>(list.slot(slot));
  }
  return memory;
}

}  // namespace

void run_attention(const AttentionStep& step, const BoundAttention& bound,
                   const ExecutionList& list, const RunContext& context) {
  if (!bound.attention) return;
  const AttentionMemory memory = memory_of(step, list);
  const std::int64_t parts = bound.attention->parts();
  std::byte* const shared = list.arena + bound.scratch.offset;
  std::byte* const own = shared + bound.shared_bytes;
  const auto run_range = [&](std::uint64_t begin, std::uint64_t end) {
    for (auto i = static_cast<std::int64_t>(begin); i < static_cast<std::int64_t>(end); ++i) {
      std::byte* const scratch = own + i * bound.scratch.bytes;
      for (std::int64_t part = parts * i / bound.runs; part < parts * (i + 1) / bound.runs;
           ++part) {
        bound.attention->run(part, memory, shared, scratch);
      }
    }
  };
  if (bound.runs < 2) {
    run_range(0, 1);
  } else {
    context.host->parallel_for(static_cast<std::uint64_t>(bound.runs),
                               [&](std::uint64_t begin, std::uint64_t end) {
                                 const ScopedThreadMode mode(context.mode);
                                 run_range(begin, end);
                               });
  }
  bound.attention->finish(memory, shared);
}

}  // namespace kiln::codegen
