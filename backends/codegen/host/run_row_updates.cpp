// One pass sorts and checks, the next one writes.
#include "backends/codegen/host/run_row_updates.h"

#include "backends/codegen/bind/step_failure.h"

namespace kiln::codegen {
namespace {

/// Calls visit(update, prepared update, memory) for each update with work.
template <class Visit>
void for_each_update(const RowUpdateStep& step, const BoundRowUpdates& bound,
                     const ExecutionList& list, const Visit& visit) {
  std::byte* entries = list.arena + bound.scratch.offset;
  for (std::size_t i = 0; i < step.updates.size(); ++i) {
    const RowUpdate& one = step.updates[i];
    const PreparedRowUpdate& update = bound.updates[i];
    const RowUpdateMemory memory{.x = list.slot(one.x),
                                 .rate = list.slot(one.rate),
                                 .indices = list.slot(one.indices),
                                 .updates = list.slot(one.updates),
                                 .result = list.slot(one.result),
                                 .entries = reinterpret_cast<RowEntry*>(entries)};
    entries += aligned(update.scratch_bytes());
    if (update.has_work()) visit(one, update, memory);
  }
}

void write_rows(const PreparedRowUpdate& update, const RowUpdateMemory& memory,
                const RunContext& context) {
  const auto parts = static_cast<std::uint64_t>(update.parts(memory));
  const auto run_range = [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t part = begin; part < end; ++part) {
      update.run(static_cast<std::int64_t>(part), memory);
    }
  };
  if (parts < 2) return run_range(0, parts);
  context.host->parallel_for(parts, [&](std::uint64_t begin, std::uint64_t end) {
    const ScopedThreadMode mode(context.mode);
    run_range(begin, end);
  });
}

}  // namespace

void run_row_updates(const RowUpdateStep& step, const BoundRowUpdates& bound,
                     const ExecutionList& list, const RunContext& context) {
  for_each_update(
      step, bound, list,
      [&](const RowUpdate& one, const PreparedRowUpdate& update, const RowUpdateMemory& memory) {
        const auto out_of_range = update.sort(memory);
        if (!out_of_range) return;
        throw row_failure(*context.module, one, *out_of_range, update.rows);
      });
  for_each_update(step, bound, list,
                  [&](const RowUpdate&, const PreparedRowUpdate& update,
                      const RowUpdateMemory& memory) { write_rows(update, memory, context); });
}

}  // namespace kiln::codegen
