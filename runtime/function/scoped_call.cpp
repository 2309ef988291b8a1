// Asks for a trace of steps before the first traced call.
#include "runtime/function/scoped_call.h"

#include "runtime/array/block_pool.h"
#include "runtime/host/log.h"

namespace kiln::runtime {
namespace {

/// Asks the executable for its steps, once for each trace: a dump then wants the stage `trace`.
void trace_steps(const CallableProgram& callable) {
  const std::int64_t number = running_trace();
  if (callable.steps_trace.exchange(number, std::memory_order_relaxed) == number) return;
  callable.program.instance->require_same_process(callable.program.name);
  const ScopedDumpTarget no_other_stage(nullptr);
  try {
    callable.program.executable->dump();
  } catch (const std::exception& error) {
    log_line(LogLevel::Warning, "trace", error.what());
  }
}

}  // namespace

ScopedCall::ScopedCall(const CallableProgram& callable, const VariableSnapshot* snapshot,
                       TakenNumber number)
    : span_("call", callable.program.name),
      running_(callable.program.name),
      dumps_(callable.dumps.get()),
      lease_(callable.calls, callable.program) {
  if (span_.is_on()) trace_steps(callable);
  release_old_blocks();
  prepared().snapshot = snapshot;
  prepared().random = random_of(callable);
  prepared().taken_number = number;
}

}  // namespace kiln::runtime
