// One call: snapshot, execute, publish. A frame of the backend works on the caller's memory; a
// backend without frames works on buffers. Overlapping or misaligned memory goes through copies.
#include "runtime/function/call.h"

#include "core/k/base/random_state_impl.h"
#include "core/types/counted.h"
#include "core/types/text.h"
#include "runtime/array/block_pool.h"
#include "runtime/function/call_results.h"
#include "runtime/function/prepared_call.h"
#include "runtime/host/caller.h"
#include "runtime/host/error_subject.h"
#include "runtime/host/log.h"
#include "runtime/host/trace.h"

#include <kiln/error.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

namespace kiln::runtime {
namespace {

/// Holds the variables of one call: the versions that it reads, and the destinations of the new
/// values, which are recycled versions or, overwritten in place, the versions that it reads.
class StateLease {
 public:
  StateLease(const CompiledProgram& program, PreparedCall& prepared)
      : program_(program), prepared_(prepared) {}
  StateLease(const StateLease&) = delete;
  StateLease& operator=(const StateLease&) = delete;

  ~StateLease() {
    if (overwrites_) {
      const std::unique_lock lock(VariableStorage::publish_mutex());
      end_overwrites();
    }
    for (VersionRef& version : prepared_.held) version = {};
    // A replaced version becomes the destination of a later call. A failed call recycles nothing:
    // it may have failed for want of that memory.
    for (std::size_t i = 0; i < prepared_.next.size(); ++i) {
      VersionRef version = std::move(prepared_.next[i]);
      if (version && is_committed_) program_.updated[i].storage->recycle(std::move(version));
    }
  }

  /// Locks the updated variables for writing, then reads a snapshot of all variables, or reads the
  /// given one. ValueError within a call that updates one of them.
  void acquire() {
    if (prepared_.snapshot == nullptr) {
      acquire_current();
    } else {
      for (std::size_t i = 0; i < prepared_.held.size(); ++i) {
        prepared_.held[i] = prepared_.snapshot->value_of(*program_.state_storages[i]);
      }
    }
    for (std::size_t i = 0; i < prepared_.next.size(); ++i) {
      const UpdateTarget& target = program_.updated[i];
      if (writes_in_place(i)) {
        target.storage->recycle({});
        target.storage->require_writable_copy(state_of(i), program_.instance);
        continue;
      }
      prepared_.next[i] = target.storage->acquire(program_.instance, target.dtype, target.dims);
    }
  }

  /// Whether update i overwrites the state that it reads.
  bool writes_in_place(std::size_t i) const {
    return overwrites_ && prepared_.overwrites[i].is_granted;
  }

  /// Returns the version that update i is written to.
  Version& destination(std::size_t i) {
    return writes_in_place(i) ? state_of(i) : *prepared_.next[i];
  }

  /// Reverts in-place updates of a run whose results are rejected.
  void reject() {
    for (std::size_t i = 0; i < prepared_.next.size(); ++i) {
      if (writes_in_place(i)) state_of(i).discard_overwrite(program_.instance);
    }
  }

  /// Publishes all updates at once.
  void commit() {
    if (prepared_.next.empty()) return;
    for (std::size_t i = 0; i < prepared_.next.size(); ++i) {
      if (writes_in_place(i)) {
        state_of(i).commit_overwrite(program_.instance);
      } else {
        prepared_.next[i]->renumber();
      }
    }
    const std::unique_lock lock(VariableStorage::publish_mutex());
    for (std::size_t i = 0; i < prepared_.next.size(); ++i) {
      if (!writes_in_place(i)) program_.updated[i].storage->publish(prepared_.next[i]);
    }
    if (overwrites_) end_overwrites();
    is_committed_ = true;
  }

 private:
  void acquire_current() {
    if (!program_.writers.empty()) locks_.emplace(program_.writers, program_.name);
    if (program_.overwrites && prepared_.is_direct()) {
      VariableStorage::snapshot(program_.state_storages, prepared_.held, prepared_.overwrites);
      overwrites_ = true;
    } else if (!prepared_.held.empty()) {
      VariableStorage::snapshot(program_.state_storages, prepared_.held);
    }
  }

  /// REQUIRES: publish_mutex() exclusively.
  void end_overwrites() {
    for (Overwrite& request : prepared_.overwrites) {
      if (std::exchange(request.is_granted, false)) {
        program_.state_storages[static_cast<std::size_t>(request.variable)]->end_overwrite();
      }
    }
    overwrites_ = false;
    VariableStorage::notify_overwrites_ended();
  }

  Version& state_of(std::size_t update) {
    return *prepared_.held[static_cast<std::size_t>(prepared_.overwrites[update].variable)];
  }

  const CompiledProgram& program_;
  PreparedCall& prepared_;
  std::optional<WriterLocks> locks_;  // released after the destructor's body
  bool overwrites_ = false;  // whether overwrites were requested and have not ended
  bool is_committed_ = false;
};

void count_call(PreparedCall& prepared) {
  const std::int64_t calls = prepared.calls.load(std::memory_order_relaxed);
  prepared.calls.store(calls + 1, std::memory_order_relaxed);
}

std::uint64_t counter_of(const CompiledProgram& program, const PreparedCall& prepared) {
  if (!program.draws) return 0;
  const std::uint64_t number = next_call_counter(prepared.random);
  if (prepared.taken_number != nullptr) *prepared.taken_number = number;
  return number;
}

// ---- Through a frame of the backend ----

/// Runs the frame and publishes the updates. REQUIRES: is_direct(), inputs and outputs are bound.
void run_frame(const CompiledProgram& program, PreparedCall& prepared) {
  StateLease state(program, prepared);
  state.acquire();
  for (std::size_t i = 0; i < prepared.held.size(); ++i) {
    Version& version = *prepared.held[i];
    const VariableStorage& storage = *program.state_storages[i];
    prepared.bind_state(i, storage.buffer_at(version, program.instance), version.number());
  }
  for (std::size_t i = 0; i < prepared.next.size(); ++i) {
    prepared.bind_update(i, state.destination(i).at(program.instance));
  }
  if (program.calls_host) prepared.host_calls.thrown = nullptr;
  prepared.run(counter_of(program, prepared));
  try {
    prepared.check_results();
    for (std::size_t i = 0; i < prepared.next.size(); ++i) {
      state.destination(i)
          .at(program.instance)
          .require_type_once({program.name, "frame_run", "update", i});
    }
  } catch (...) {
    state.reject();
    throw;
  }
  state.commit();
  count_call(prepared);
}

/// Returns work(); an OutOfMemory names the input.
template <class Work>
decltype(auto) for_input(const CompiledProgram& program, std::size_t i, const Work& work) {
  return with_memory_subject([&] { return program.binding.describe(i); }, work);
}

std::vector<Array> call_frame(const CompiledProgram& program, PreparedCall& prepared) {
  std::vector<Array> results = bind_results(program, prepared);
  run_frame(program, prepared);
  return results;
}

// ---- Through buffers of the backend ----

/// Checks the caller's views against the results. ValueError, TypeError.
void require_fit(const CompiledProgram& program, const std::vector<Array>& results,
                 std::span<const MutableArrayView> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Array& result = results[i];
    const MutableArrayView& view = outputs[i];
    const bool same_dims =
        std::equal(result.dims().begin(), result.dims().end(), view.dims.begin(), view.dims.end());
    if (!same_dims || result.dtype() != view.dtype) reject_view(program, i, result.dims(), view);
    if (view.data == nullptr && result.bytes() != 0) {
      throw ValueError(program.name, "outputs", text("outputs[", i, "] has a null address"));
    }
  }
}

/// Checks the types of all results. BackendError for a type that the program does not have.
void require_types(const CompiledProgram& program, const PreparedCall& prepared,
                   std::span<Buffer> outputs, std::span<const Buffer> updates) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].expect_type(program.graph.outputs[i].dtype(), prepared.output_dims(i),
                           {program.name, "execute", "output", i});
  }
  for (std::size_t i = 0; i < updates.size(); ++i) {
    updates[i].require_type({program.name, "execute", "update", i});
  }
}

/// Executes on buffers and publishes the updates. `destinations`: the caller's views of the
/// results, checked before any variable changes; empty if the caller takes Arrays.
std::vector<Array> execute_buffers(const CompiledProgram& program, PreparedCall& prepared,
                                   std::span<const Buffer* const> inputs,
                                   std::span<const MutableArrayView> destinations) {
  StateLease state(program, prepared);
  state.acquire();
  std::vector<StateInput> states;
  for (std::size_t i = 0; i < prepared.held.size(); ++i) {
    Version& version = *prepared.held[i];
    const VariableStorage& storage = *program.state_storages[i];
    states.push_back({&storage.buffer_at(version, program.instance), false, version.number()});
  }
  std::vector<Buffer> outputs(program.graph.outputs.size()), updates;
  for (const VersionRef& version : prepared.next) updates.push_back(version->take_buffer());
  prepared.host_calls.thrown = nullptr;
  const ExecuteCall call{.inputs = inputs,
                         .states = states,
                         .outputs = outputs,
                         .updates = updates,
                         .seed = program.seed,
                         .call_counter = counter_of(program, prepared),
                         .host_calls = program.calls_host ? &prepared.host_calls : nullptr,
                         .label = program.name};
  program.executable->execute(call).wait();
  require_types(program, prepared, outputs, updates);
  std::vector<Array> results;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    results.push_back(to_result(program, i, outputs[i]));
  }
  require_fit(program, results, destinations);
  for (std::size_t i = 0; i < updates.size(); ++i) {
    prepared.next[i]->put_buffer(std::move(updates[i]));
  }
  state.commit();
  count_call(prepared);
  return results;
}

std::vector<Array> call_buffers(const CompiledProgram& program, PreparedCall& prepared,
                                std::span<const ArrayView> inputs,
                                std::span<const MutableArrayView> destinations = {}) {
  std::vector<Buffer> buffers;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ArrayView& view = inputs[i];
    buffers.push_back(for_input(program, i, [&] {
      return program.instance->import_immutable(view.data, view.dtype, view.dims);
    }));
  }
  std::vector<const Buffer*> pointers;
  for (const Buffer& buffer : buffers) pointers.push_back(&buffer);
  return execute_buffers(program, prepared, pointers, destinations);
}

// ---- Through copies ----

/// Copies results to the caller's memory, in order. REQUIRES: the results fit.
void copy_out(const std::vector<Array>& results, std::span<const MutableArrayView> outputs) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].bytes() == 0) continue;
    std::memcpy(outputs[i].data, results[i].data(), results[i].bytes());
  }
}

/// Calls on copies of memory that a backend must not access: overlapping or misaligned.
void call_through_copies(const CompiledProgram& program, PreparedCall& prepared,
                         std::span<const ArrayView> inputs,
                         std::span<const MutableArrayView> outputs) {
  std::vector<Array> copies;
  std::vector<ArrayView> views;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ArrayView& input = inputs[i];
    copies.push_back(for_input(program, i, [&] {
      return Array::copy_of(input.data, {input.dims.begin(), input.dims.end()}, input.dtype);
    }));
  }
  for (const Array& copy : copies) views.push_back(copy.as_view());
  prepared.bind_inputs(views);
  copy_out(call_frame(program, prepared), outputs);
}

/// Asks the executable for its steps, once for each trace: a dump then wants the stage `trace`.
void trace_steps(const CallableProgram& callable) {
  const std::int64_t number = running_trace();
  if (callable.steps_trace.exchange(number, std::memory_order_relaxed) == number) return;
  const ScopedDumpTarget no_other_stage(nullptr);
  try {
    callable.program.executable->dump();
  } catch (const std::exception& error) {
    log_line(LogLevel::Warning, "trace", error.what());
  }
}

/// Receives the number of the call's random draws, for a recorder; null without one.
using TakenNumber = std::uint64_t*;

/// Surrounds every call: its event in a trace, the running function for messages, its dumps, its
/// prepared call.
class CallScope {
 public:
  CallScope(const CallableProgram& callable, const VariableSnapshot* snapshot, TakenNumber number)
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

void run_into(const CallableProgram& callable, std::span<const ArrayView> inputs,
              std::span<const MutableArrayView> outputs, const VariableSnapshot* snapshot,
              TakenNumber number) {
  const CompiledProgram& program = callable.program;
  const CallScope scope(callable, snapshot, number);
  PreparedCall& prepared = scope.prepared();
  prepared.bind_inputs(inputs);
  inputs = prepared.with_canonical_bools(inputs);
  const std::size_t count = program.graph.outputs.size();
  if (outputs.size() != count) {
    throw ValueError(
        program.name, "outputs",
        text("gives ", counted(count, "output"), " but ", counted(outputs.size(), "view"),
             outputs.size() == 1 ? " was given" : " were given"));
  }
  if (!prepared.is_direct()) {
    return copy_out(call_buffers(program, prepared, inputs, outputs), outputs);
  }
  prepared.bind_outputs(outputs);
  if (!prepared.can_run_in_place()) return call_through_copies(program, prepared, inputs, outputs);
  run_frame(program, prepared);
}

std::vector<Array> run(const CallableProgram& callable, std::span<const ArrayView> inputs,
                       const VariableSnapshot* snapshot, TakenNumber number) {
  const CompiledProgram& program = callable.program;
  const CallScope scope(callable, snapshot, number);
  PreparedCall& prepared = scope.prepared();
  prepared.bind_inputs(inputs);
  inputs = prepared.with_canonical_bools(inputs);
  return prepared.is_direct() ? call_frame(program, prepared)
                              : call_buffers(program, prepared, inputs);
}

/// Returns work(snapshot, number) and records the call. The variables stay readable as they were
/// before it: it overwrites none in place.
template <class Work>
[[gnu::noinline]] auto recorded(const CallableProgram& callable, std::span<const ArrayView> inputs,
                                const VariableSnapshot* snapshot, const Work& work) {
  CallRecorder& recorder = *callable.recorder;
  const CompiledProgram& program = callable.program;
  std::optional<VariableSnapshot> own;
  if (snapshot == nullptr) {
    snapshot = &own.emplace(recorder.variables(), program.writers, program.name);
  }
  CallRecorder::Call call(recorder, inputs, *snapshot,
                          peek_call_counter(CallScope::random_of(callable)));
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

}  // namespace

void call_into(const CallableProgram& callable, std::span<const ArrayView> inputs,
               std::span<const MutableArrayView> outputs, const VariableSnapshot* snapshot) {
  if (!callable.recorder) return run_into(callable, inputs, outputs, snapshot, nullptr);
  recorded(callable, inputs, snapshot, [&](const VariableSnapshot* read, TakenNumber number) {
    run_into(callable, inputs, outputs, read, number);
  });
}

std::vector<Array> call(const CallableProgram& callable, std::span<const ArrayView> inputs,
                        const VariableSnapshot* snapshot) {
  if (!callable.recorder) return run(callable, inputs, snapshot, nullptr);
  return recorded(callable, inputs, snapshot,
                  [&](const VariableSnapshot* read, TakenNumber number) {
                    return run(callable, inputs, read, number);
                  });
}

std::vector<Array> call(const CallableProgram& callable, std::span<const Array> inputs) {
  const CompiledProgram& program = callable.program;
  if (callable.recorder) {
    std::vector<ArrayView> views;
    for (const Array& input : inputs) views.push_back(input.as_view());
    return call(callable, views);
  }
  const CallScope scope(callable, nullptr, nullptr);
  PreparedCall& prepared = scope.prepared();
  prepared.bind_inputs(inputs);
  if (prepared.is_direct()) return call_frame(program, prepared);
  std::vector<ArrayView> views;
  for (const Array& input : inputs) views.push_back(input.as_view());
  return call_buffers(program, prepared, views);
}

}  // namespace kiln::runtime
