// Two passes over the updates of the step.
#include "backends/codegen/host/run_row_updates.h"

#include "backends/codegen/bind/step_failure.h"

namespace kiln::codegen {
namespace {

/// Calls visit(update, its prepared form, its memory) for the updates that have work.
template <class Visit>
void for_each_update(const RowUpdateStep& step, const BoundRowUpdates& bound, const Tape& tape,
                     const Visit& visit) {
  std::byte* entries = tape.arena + bound.scratch.offset;
  for (std::size_t i = 0; i < step.updates.size(); ++i) {
    const RowUpdate& one = step.updates[i];
    const PreparedRowUpdate& update = bound.updates[i];
    const RowUpdateMemory memory{tape.slot(one.x),       tape.slot(one.rate),
                                 tape.slot(one.indices), tape.slot(one.updates),
                                 tape.slot(one.result),  reinterpret_cast<RowEntry*>(entries)};
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

void run_row_updates(const RowUpdateStep& step, const BoundRowUpdates& bound, const Tape& tape,
                     const RunContext& context) {
  for_each_update(step, bound, tape,
                  [&](const RowUpdate& one, const PreparedRowUpdate& update,
                      const RowUpdateMemory& memory) {
                    const auto outside = update.sort(memory);
                    if (!outside) return;
                    throw row_failure(*context.module, one, *outside, update.rows);
                  });
  for_each_update(step, bound, tape,
                  [&](const RowUpdate&, const PreparedRowUpdate& update,
                      const RowUpdateMemory& memory) { write_rows(update, memory, context); });
}

}  // namespace kiln::codegen
