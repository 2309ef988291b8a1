// Snapshot, execute, publish. Outputs go to the caller's memory or to buffers; memory that cannot
// be given to a backend as it is goes through copies. The frame of a call is in call_frame.h.
#include "runtime/function/call.h"

#include "core/k/frame/context_impl.h"
#include "core/types/counted.h"
#include "core/types/text.h"
#include "runtime/array/block_pool.h"
#include "runtime/function/call_frame.h"
#include "runtime/function/call_results.h"
#include "runtime/host/caller.h"
#include "runtime/host/error_subject.h"

#include <kiln/error.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace kiln::runtime {
namespace {

/// The variables of one call: the versions it reads, and where it writes the next ones, be it over
/// those. Nothing is taken by a program without variables.
class StateLease {
 public:
  StateLease(const Program& program, CallFrame& frame) : program_(program), frame_(frame) {}
  StateLease(const StateLease&) = delete;
  StateLease& operator=(const StateLease&) = delete;

  ~StateLease() {
    if (overwrites_) {
      const std::unique_lock lock(VariableStorage::publish_mutex());
      end_overwrites();
    }
    for (VersionRef& version : frame_.held) version = {};
    // A replaced value is the destination of a later call. A call that failed leaves nothing: the
    // memory may be what it lacked.
    for (std::size_t i = 0; i < frame_.next.size(); ++i) {
      VersionRef version = std::move(frame_.next[i]);
      if (version && is_committed_) program_.updated[i].storage->keep_spare(std::move(version));
    }
  }

  /// Write locks of the updated variables, then all values of one moment. ValueError within a call
  /// that updates one of them.
  void take() {
    if (frame_.moment == nullptr) {
      take_now();
    } else {
      for (std::size_t i = 0; i < frame_.held.size(); ++i) {
        frame_.held[i] = frame_.moment->value_of(*program_.state_storages[i]);
      }
    }
    for (std::size_t i = 0; i < frame_.next.size(); ++i) {
      const UpdateTarget& target = program_.updated[i];
      if (is_over(i)) {
        target.storage->keep_spare({});
        continue;
      }
      frame_.next[i] = target.storage->take_spare(program_.instance, target.dtype, target.dims);
    }
  }

  /// Whether update i goes over its state.
  bool is_over(std::size_t i) const { return overwrites_ && frame_.overwrites[i].taken; }

  /// Where update i is written.
  Version& destination(std::size_t i) { return is_over(i) ? state_of(i) : *frame_.next[i]; }

  /// The run went through but its results are not taken: states that it wrote over go back to what
  /// the host knows of them.
  void reject() {
    for (std::size_t i = 0; i < frame_.next.size(); ++i) {
      if (is_over(i)) state_of(i).reject_written(program_.instance);
    }
  }

  /// All updates become visible together.
  void commit() {
    if (frame_.next.empty()) return;
    for (std::size_t i = 0; i < frame_.next.size(); ++i) {
      if (is_over(i)) {
        state_of(i).written_over(program_.instance);
      } else {
        frame_.next[i]->renumber();
      }
    }
    const std::unique_lock lock(VariableStorage::publish_mutex());
    for (std::size_t i = 0; i < frame_.next.size(); ++i) {
      if (!is_over(i)) program_.updated[i].storage->publish(frame_.next[i]);
    }
    if (overwrites_) end_overwrites();
    is_committed_ = true;
  }

 private:
  void take_now() {
    if (!program_.writers.empty()) locks_.emplace(program_.writers, program_.name);
    if (program_.overwrites && frame_.is_direct()) {
      VariableStorage::snapshot(program_.state_storages, frame_.held, frame_.overwrites);
      overwrites_ = true;
    } else if (!frame_.held.empty()) {
      VariableStorage::snapshot(program_.state_storages, frame_.held);
    }
  }

  /// REQUIRES: publish_mutex() exclusively.
  void end_overwrites() {
    for (Overwrite& one : frame_.overwrites) {
      if (std::exchange(one.taken, false)) {
        program_.state_storages[static_cast<std::size_t>(one.variable)]->end_overwrite();
      }
    }
    overwrites_ = false;
    VariableStorage::overwrites_ended();
  }

  Version& state_of(std::size_t update) {
    return *frame_.held[static_cast<std::size_t>(frame_.overwrites[update].variable)];
  }

  const Program& program_;
  CallFrame& frame_;
  std::optional<WriterLocks> locks_;  // released when the destructor is through
  bool overwrites_ = false;           // some states are taken to be written over
  bool is_committed_ = false;
};

void count_call(CallFrame& frame) {
  const std::int64_t calls = frame.calls.load(std::memory_order_relaxed);
  frame.calls.store(calls + 1, std::memory_order_relaxed);
}

std::uint64_t counter_of(const Program& program) {
  return program.draws ? next_call_counter() : 0;
}

// ---- Through a prepared call ----

/// REQUIRES: inputs and outputs are bound.
void run_prepared(const Program& program, CallFrame& frame) {
  StateLease state(program, frame);
  state.take();
  for (std::size_t i = 0; i < frame.held.size(); ++i) {
    Version& version = *frame.held[i];
    const VariableStorage& storage = *program.state_storages[i];
    frame.bind_state(i, storage.place(version, program.instance), version.number());
  }
  for (std::size_t i = 0; i < frame.next.size(); ++i) {
    frame.bind_update(i, state.destination(i).at(program.instance));
  }
  if (program.calls_host) frame.host_calls.thrown = nullptr;
  frame.run(counter_of(program));
  try {
    frame.check_results();
    for (std::size_t i = 0; i < frame.next.size(); ++i) {
      state.destination(i).at(program.instance).require_type_once(
          {program.name, "frame_run", "update", i});
    }
  } catch (...) {
    state.reject();
    throw;
  }
  state.commit();
  count_call(frame);
}

/// work(), where OutOfMemory names the input.
template <class Work>
decltype(auto) for_input(const Program& program, std::size_t i, const Work& work) {
  return with_memory_subject([&] { return program.binding.describe(i); }, work);
}

std::vector<Array> call_prepared(const Program& program, CallFrame& frame) {
  std::vector<Array> results = bind_results(program, frame);
  run_prepared(program, frame);
  return results;
}

// ---- Through buffers of the backend ----

/// Whether the results may be written to where the caller wants them.
void require_fit(const Program& program, const std::vector<Array>& results,
                 std::span<const MutableArrayView> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Array& result = results[i];
    const MutableArrayView& view = outputs[i];
    const bool same_dims = std::equal(result.dims().begin(), result.dims().end(),
                                      view.dims.begin(), view.dims.end());
    if (!same_dims || result.dtype() != view.dtype) refuse_view(program, i, result.dims(), view);
    if (view.data == nullptr && result.bytes() != 0) {
      throw ValueError(program.name, "outputs", text("outputs[", i, "] has the address null"));
    }
  }
}

/// The types of all results. BackendError where the plugin gave another.
void require_types(const Program& program, const CallFrame& frame, std::span<Buffer> outputs,
                   std::span<const Buffer> updates) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].expect_type(program.graph.outputs[i].dtype(), frame.output_dims(i),
                           {program.name, "execute", "output", i});
  }
  for (std::size_t i = 0; i < updates.size(); ++i) {
    updates[i].require_type({program.name, "execute", "update", i});
  }
}

/// `wanted`: where the results will go, looked at before any variable changes; none for arrays.
std::vector<Array> execute_buffers(const Program& program, CallFrame& frame,
                                   std::span<const Buffer* const> inputs,
                                   std::span<const MutableArrayView> wanted) {
  StateLease state(program, frame);
  state.take();
  std::vector<StateInput> states;
  for (std::size_t i = 0; i < frame.held.size(); ++i) {
    Version& version = *frame.held[i];
    const VariableStorage& storage = *program.state_storages[i];
    states.push_back({&storage.place(version, program.instance), false, version.number()});
  }
  std::vector<Buffer> outputs(program.graph.outputs.size()), updates;
  for (const VersionRef& version : frame.next) updates.push_back(version->take_buffer());
  frame.host_calls.thrown = nullptr;
  ExecuteCall call;
  call.inputs = inputs;
  call.states = states;
  call.outputs = outputs;
  call.updates = updates;
  call.seed = program.seed;
  call.call_counter = counter_of(program);
  call.host_calls = program.calls_host ? &frame.host_calls : nullptr;
  call.label = program.name;
  program.executable->execute(call).wait();
  require_types(program, frame, outputs, updates);
  std::vector<Array> results;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    results.push_back(to_result(program, i, outputs[i]));
  }
  require_fit(program, results, wanted);
  for (std::size_t i = 0; i < updates.size(); ++i) {
    frame.next[i]->put_buffer(std::move(updates[i]));
  }
  state.commit();
  count_call(frame);
  return results;
}

std::vector<Array> call_buffers(const Program& program, CallFrame& frame,
                                std::span<const ArrayView> inputs,
                                std::span<const MutableArrayView> wanted = {}) {
  std::vector<Buffer> buffers;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ArrayView& view = inputs[i];
    buffers.push_back(for_input(program, i, [&] {
      return program.instance->import_borrowed(view.data, view.dtype, view.dims);
    }));
  }
  std::vector<const Buffer*> pointers;
  for (const Buffer& buffer : buffers) pointers.push_back(&buffer);
  return execute_buffers(program, frame, pointers, wanted);
}

// ---- Through copies ----

/// REQUIRES: the results fit.
void copy_out(const std::vector<Array>& results, std::span<const MutableArrayView> outputs) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].bytes() == 0) continue;
    std::memcpy(outputs[i].data, results[i].data(), results[i].bytes());
  }
}

/// For memory that a backend must not be given as it is: outputs over inputs, odd addresses.
void call_through_copies(const Program& program, CallFrame& frame,
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
  frame.bind_inputs(views);
  copy_out(call_prepared(program, frame), outputs);
}

}  // namespace

void call_into(const CallableProgram& callable, std::span<const ArrayView> inputs,
               std::span<const MutableArrayView> outputs, const Moment* moment) {
  const Program& program = callable.program;
  release_old_blocks();
  const RunningCall running(program.name);
  const TakingDumps taking(callable.dumps.get());
  const FrameLease lease(callable.frames, program);
  CallFrame& frame = *lease;
  frame.moment = moment;
  frame.bind_inputs(inputs);
  inputs = frame.with_canonical_bools(inputs);
  const std::size_t count = program.graph.outputs.size();
  if (outputs.size() != count) {
    throw ValueError(program.name, "outputs",
                     text("gives ", counted(count, "output"), " but ",
                          counted(outputs.size(), "view"),
                          outputs.size() == 1 ? " was given" : " were given"));
  }
  if (!frame.is_direct()) {
    return copy_out(call_buffers(program, frame, inputs, outputs), outputs);
  }
  frame.bind_outputs(outputs);
  if (!frame.is_separate()) return call_through_copies(program, frame, inputs, outputs);
  run_prepared(program, frame);
}

std::vector<Array> call(const CallableProgram& callable, std::span<const ArrayView> inputs,
                        const Moment* moment) {
  const Program& program = callable.program;
  release_old_blocks();
  const RunningCall running(program.name);
  const TakingDumps taking(callable.dumps.get());
  const FrameLease lease(callable.frames, program);
  CallFrame& frame = *lease;
  frame.moment = moment;
  frame.bind_inputs(inputs);
  inputs = frame.with_canonical_bools(inputs);
  return frame.is_direct() ? call_prepared(program, frame) : call_buffers(program, frame, inputs);
}

}  // namespace kiln::runtime
