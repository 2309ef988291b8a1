// The surroundings of a call: its event in a trace, its messages and dumps, and its record.
#pragma once

#include "core/k/base/random_state_impl.h"
#include "runtime/function/callable_program.h"
#include "runtime/host/caller.h"
#include "runtime/host/trace.h"
#include "runtime/variable/variable_snapshot.h"

#include <exception>
#include <optional>
#include <span>
#include <type_traits>

namespace kiln::runtime {

/// Receives the number of the call's random draws, for a recorder; null without one.
using TakenNumber = std::uint64_t*;

/// Surrounds every call: its event in a trace, the running function for messages, its dumps, its
/// prepared call.
class ScopedCall {
 public:
  /// Throws BackendError in a child of fork(), as the call itself would.
  ScopedCall(const CallableProgram& callable, const VariableSnapshot* snapshot, TakenNumber number);
  PreparedCall& prepared() const { return *lease_; }

  static const RandomState* random_of(const CallableProgram& callable) {
    return callable.random ? &*callable.random : nullptr;
  }

 private:
  const TraceSpan span_;
  const RunningCall running_;
  const ScopedDumpFolder dumps_;
  const PreparedCallLease lease_;
};

/// Returns work(snapshot, number) and records the call. The variables stay readable as they were
/// before it: it overwrites none in place.
template <class Work>
[[gnu::noinline]] auto record_call(const CallableProgram& callable,
                                   std::span<const ArrayView> inputs,
                                   const VariableSnapshot* snapshot, const Work& work) {
  CallRecorder& recorder = *callable.recorder;
  const CompiledProgram& program = callable.program;
  std::optional<VariableSnapshot> own;
  if (snapshot == nullptr) {
    snapshot = &own.emplace(recorder.variables(), program.writers, program.name);
  }
  CallRecorder::Call call(recorder, inputs, *snapshot,
                          peek_call_counter(ScopedCall::random_of(callable)));
  try {
    if constexpr (std::is_void_v<decltype(work(snapshot, call.number()))>) {
      work(snapshot, call.number());
      call.succeed();
    } else {
      auto results = work(snapshot, call.number());
      call.succeed();
      return results;
    }
  } catch (const std::exception& error) {
    call.fail(error.what());
    throw;
  } catch (...) {
    call.fail("an exception that is not a std::exception");
    throw;
  }
}

}  // namespace kiln::runtime
