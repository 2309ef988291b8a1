// A compiled program with the state that its calls (call.h) share.
#pragma once

#include "runtime/dump/dump_folder.h"
#include "runtime/function/compile/compiled_program.h"
#include "runtime/function/prepared_call.h"
#include "runtime/replay/call_recorder.h"

#include <kiln/random_state.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

namespace kiln::runtime {

struct CallableProgram {
  CallableProgram() = default;
  /// Dumps the timings of the calls.
  ~CallableProgram();
  CallableProgram(const CallableProgram&) = delete;
  CallableProgram& operator=(const CallableProgram&) = delete;

  CompiledProgram program;            // immutable once compiled
  std::optional<RandomState> random;  // counts the calls that draw; unset: the process's
  std::unique_ptr<DumpFolder> dumps;  // receives stages of compiling and calls; null: no dump
  std::unique_ptr<CallRecorder> recorder;  // null: calls are not written (KILN_RECORD)
  /// The trace (running_trace) for which the executable was asked for its steps.
  mutable std::atomic<std::int64_t> steps_trace{0};
  mutable PreparedCallPool calls;     // has frames of the executable, so is destroyed before it
};

/// Compiles `callable.program` and dumps the stages into `callable.dumps`. REQUIRES: as for
/// compile_program. Throws IoError for the dump, and as compile_program.
void compile_callable(CallableProgram& callable);

}  // namespace kiln::runtime
