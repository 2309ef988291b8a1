// One call: snapshot, execute, publish. A frame of the backend works on the caller's memory; a
// backend without frames works on buffers. Overlapping or misaligned memory goes through copies.
#include "runtime/function/call.h"

#include "core/k/base/random_state_impl.h"
#include "core/types/counted.h"
#include "core/types/text.h"
#include "runtime/function/call_results.h"
#include "runtime/function/collective_call.h"
#include "runtime/function/scoped_call.h"
#include "runtime/function/state_lease.h"
#include "runtime/host/error_subject.h"

#include <kiln/error.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace kiln::runtime {
namespace {

void count_call(PreparedCall& prepared) {
  const std::int64_t calls = prepared.calls.load(std::memory_order_relaxed);
  prepared.calls.store(calls + 1, std::memory_order_relaxed);
}

std::uint64_t counter_of(const CompiledProgram& program, const PreparedCall& prepared) {
  if (!program.draws) return 0;
  const VariableSnapshot* snapshot = prepared.snapshot;
  const std::uint64_t number = snapshot != nullptr && snapshot->call_number()
                                   ? *snapshot->call_number()
                                   : next_call_counter(prepared.random);
  if (prepared.taken_number != nullptr) *prepared.taken_number = number;
  return number;
}

/// Agrees on the call with the group of the program's collectives. REQUIRES: inputs are bound.
void open_collectives(const CompiledProgram& program, PreparedCall& prepared) {
  if (program.collectives.empty()) return;
  CollectiveCall* call = CollectiveCall::current();
  if (call == nullptr) {
    throw BackendError(program.name, "", "a program with collectives runs outside of its group");
  }
  call->open(prepared.symbols());
  prepared.host_calls.collectives = call;
}

/// Publishes the updates, once no rank of the program's group can fail.
void publish(const CompiledProgram& program, PreparedCall& prepared, StateLease& state) {
  if (!program.collectives.empty()) prepared.host_calls.collectives->close();
  state.commit();
  count_call(prepared);
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
  if (program.overwrites && !program.collectives.empty()) {
    CollectiveCall::current()->allow_overwrites();
  }
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
  publish(program, prepared, state);
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
  publish(program, prepared, state);
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

void run_into(const CallableProgram& callable, std::span<const ArrayView> inputs,
              std::span<const MutableArrayView> outputs, const VariableSnapshot* snapshot,
              TakenNumber number) {
  const CompiledProgram& program = callable.program;
  const ScopedCall scope(callable, snapshot, number);
  PreparedCall& prepared = scope.prepared();
  prepared.bind_inputs(inputs);
  inputs = prepared.with_canonical_bools(inputs);
  open_collectives(program, prepared);
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
  const ScopedCall scope(callable, snapshot, number);
  PreparedCall& prepared = scope.prepared();
  prepared.bind_inputs(inputs);
  inputs = prepared.with_canonical_bools(inputs);
  open_collectives(program, prepared);
  return prepared.is_direct() ? call_frame(program, prepared)
                              : call_buffers(program, prepared, inputs);
}

}  // namespace

void call_into(const CallableProgram& callable, std::span<const ArrayView> inputs,
               std::span<const MutableArrayView> outputs, const VariableSnapshot* snapshot) {
  if (!callable.recorder) return run_into(callable, inputs, outputs, snapshot, nullptr);
  record_call(callable, inputs, snapshot, [&](const VariableSnapshot* read, TakenNumber number) {
    run_into(callable, inputs, outputs, read, number);
  });
}

std::vector<Array> call(const CallableProgram& callable, std::span<const ArrayView> inputs,
                        const VariableSnapshot* snapshot) {
  if (!callable.recorder) return run(callable, inputs, snapshot, nullptr);
  return record_call(callable, inputs, snapshot,
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
  const ScopedCall scope(callable, nullptr, nullptr);
  PreparedCall& prepared = scope.prepared();
  prepared.bind_inputs(inputs);
  open_collectives(program, prepared);
  if (prepared.is_direct()) return call_frame(program, prepared);
  std::vector<ArrayView> views;
  for (const Array& input : inputs) views.push_back(input.as_view());
  return call_buffers(program, prepared, views);
}

}  // namespace kiln::runtime
