// Events, executables and frames of an instance. Buffers are in backend_buffer.cpp.
#include "runtime/plugin/backend_instance.h"

#include <kiln/error.h>

#include "backends/abi/kiln_backend_structs.h"
#include "core/types/text.h"
#include "runtime/host/caller.h"
#include "runtime/plugin/plugin_call.h"

#include <algorithm>
#include <array>
#include <ostream>

namespace kiln::runtime {
namespace {

/// An array of `count` elements, on the stack up to 32.
template <class T>
class SmallArray {
 public:
  explicit SmallArray(std::size_t count) : count_(count) {
    if (count > few_.size()) many_.resize(count);
  }
  T* data() { return count_ > few_.size() ? many_.data() : few_.data(); }
  T& operator[](std::size_t i) { return data()[i]; }

 private:
  std::size_t count_;
  std::array<T, 32> few_{};
  std::vector<T> many_;
};

void require_own(const Buffer& buffer, const InstancePtr& instance, const char* what) {
  if (buffer.instance() == instance) return;
  const Caller caller = Caller::of();
  throw InternalError(caller.function, "",
                      text(what, " belongs to another backend than ", instance->name()),
                      caller.where);
}

void list_results(std::span<Buffer> results, SmallArray<kiln_buffer*>& handles,
                  const InstancePtr& owner) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i]) require_own(results[i], owner, "a result");
    handles[i] = results[i].handle();
  }
}

/// Rethrows the exception of a host function, if one threw during the call, and frees the plugin's
/// error, which only repeats it. Results of a plugin that ignores that failure are discarded.
void rethrow_host_call(const Instance& instance, kiln_error* error,
                       const HostCallContext& host_calls) {
  if (!host_calls.thrown) return;
  if (error != nullptr) {
    destroy_handle(instance.plugin(), "error_destroy", instance.api().error_destroy, error);
  }
  std::rethrow_exception(host_calls.thrown);
}

/// Adopts the buffers that a backend returns for one call, each of which must be distinct from all
/// other handles of the call. A duplicate, or a handle that replaces the host's, has no known owner
/// and is not destroyed. Invariant: allocates only in the constructor, so that no handle leaks once
/// the backend has run.
class ResultHandles {
 public:
  explicit ResultHandles(const ExecuteCall& call) {
    const std::size_t results = call.outputs.size() + call.updates.size();
    known_.reserve(call.inputs.size() + call.states.size() + 2 * results);
    adopted_.reserve(results);
    for (const Buffer* input : call.inputs) known_.push_back(input->handle());
    for (const StateInput& state : call.states) known_.push_back(state.buffer->handle());
    for (const Buffer& given : call.outputs) known_.push_back(given.handle());
    for (const Buffer& given : call.updates) known_.push_back(given.handle());
    std::sort(known_.begin(), known_.end());
  }

  /// Adopts the buffers that the backend allocated for empty results.
  void adopt(std::span<Buffer> results, SmallArray<kiln_buffer*>& handles, const InstancePtr& owner,
             const char* what) noexcept {
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i]) {
        if (handles[i] != results[i].handle()) note("replaced the buffer given for ", what, i);
        continue;
      }
      if (handles[i] == nullptr) {
        note("succeeded without a buffer for ", what, i);
        continue;
      }
      const auto position = std::lower_bound(known_.begin(), known_.end(), handles[i]);
      if (position != known_.end() && *position == handles[i]) {
        note("gave the buffer of another value for ", what, i);
        continue;
      }
      known_.insert(position, handles[i]);
      results[i] = Buffer(owner, handles[i]);
      adopted_.push_back(&results[i]);
    }
  }

  bool is_broken() const { return violation_.text != nullptr; }
  /// Describes the first violation of the ABI's rules. REQUIRES: is_broken().
  std::string violation() const {
    return text(violation_.text, violation_.kind, " ", violation_.index);
  }
  /// Destroys the adopted buffers, so that these results are empty again.
  void reset() noexcept {
    for (Buffer* one : adopted_) one->reset();
  }

 private:
  struct Violation {
    const char* text = nullptr;
    const char* kind = nullptr;  // "output" or "update"
    std::size_t index = 0;
  };

  void note(const char* text, const char* kind, std::size_t i) noexcept {
    if (!is_broken()) violation_ = {text, kind, i};
  }

  std::vector<kiln_buffer*> known_;  // sorted
  std::vector<Buffer*> adopted_;
  Violation violation_;
};

/// Waits until the backend no longer uses the buffers of a failed call. Ignores an error of the
/// wait, as the call's own error is thrown.
void wait_ignoring_errors(Event& pending) {
  try {
    pending.wait();
  } catch (const Error&) {
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const ProgramCounts& counts) {
  return out << counts.inputs << " inputs, " << counts.states << " states, " << counts.outputs
             << " outputs and " << counts.updates << " updates";
}

// ---- Event ----

Event& Event::operator=(Event&& other) noexcept {
  if (this == &other) return *this;
  reset();
  instance_ = std::move(other.instance_);
  handle_ = std::exchange(other.handle_, nullptr);
  return *this;
}

void Event::reset() noexcept {
  if (handle_ != nullptr) {
    instance_->destroy("event_destroy", instance_->api().event_destroy,
                       std::exchange(handle_, nullptr));
  }
  instance_.reset();
}

void Event::wait() {
  // event_wait may return before the work is done, even without a limit; but not forever.
  constexpr int kMaxWaits = 1'000'000;
  for (int i = 0; i < kMaxWaits; ++i) {
    if (wait_for(KILN_WAIT_FOREVER)) return;
  }
  throw_broken(instance_->plugin(), "", "event_wait",
               text("returned ", kMaxWaits, " times without limit before the work was over"));
}

bool Event::wait_for(std::uint64_t nanoseconds) {
  if (handle_ == nullptr) return true;
  std::uint32_t done = 0;
  instance_->invoke("", "event_wait", instance_->api().event_wait, handle_, nanoseconds, &done);
  return done != 0;
}

// ---- Executable ----

Executable& Executable::operator=(Executable&& other) noexcept {
  if (this == &other) return *this;
  reset();
  instance_ = std::move(other.instance_);
  handle_ = std::exchange(other.handle_, nullptr);
  return *this;
}

void Executable::reset() noexcept {
  if (handle_ != nullptr) {
    instance_->destroy("executable_destroy", instance_->api().executable_destroy,
                       std::exchange(handle_, nullptr));
  }
  instance_.reset();
}

ExecutableInfo Executable::info(const std::optional<ProgramCounts>& expected) const {
  auto raw = abi::fresh<kiln_executable_info>();
  instance_->invoke("", "executable_info", instance_->api().executable_info, handle_, &raw);
  return read_reported(instance_->plugin(), "", "executable_info", [&] {
    const ProgramCounts counts{raw.inputs, raw.states, raw.outputs, raw.updates};
    const bool has_counts = counts != ProgramCounts{};
    if (expected && has_counts && counts != *expected) {
      throw abi::BrokenStruct(text("gave ", counts, " but the module has ", *expected));
    }
    for (const std::uint64_t count :
         {raw.code_generations, raw.bindings, raw.planned_bytes, raw.live_bytes}) {
      if (count > INT64_MAX) throw abi::BrokenStruct(text(count, " is not a count"));
    }
    ExecutableInfo info{counts,         {}, raw.code_generations, raw.bindings, raw.planned_bytes,
                        raw.live_bytes, {}};
    const abi::ReportElements<kiln_message> messages(raw.messages, "messages");
    for (std::uint64_t i = 0; i < messages.size(); ++i) {
      const kiln_message message = messages[i];
      if (message.level > KILN_LOG_DEBUG) {
        throw abi::BrokenStruct(text("the level ", message.level, " of a message is not known"));
      }
      info.messages.emplace_back(message.level, shown_text(message.text, "text"));
    }
    info.target = shown_text(raw.target, "target");
    info.runs_collectives = raw.runs_collectives != 0;
    if (!expected || !has_counts) return info;
    info.updates_in_place.resize(raw.updates, false);
    for (std::uint64_t i = 0; raw.updates_in_place != nullptr && i < raw.updates; ++i) {
      info.updates_in_place[i] = raw.updates_in_place[i] != 0;
    }
    return info;
  });
}

bool Executable::dump() const {
  const std::string_view name = KILN_PROC_EXECUTABLE_DUMP;
  const kiln_proc proc = call_entry(instance_->plugin(), "dump", "get_proc",
                                    instance_->api().get_proc, abi::string_of(name));
  if (proc == nullptr) return false;
  instance_->invoke("dump", KILN_PROC_EXECUTABLE_DUMP,
                    reinterpret_cast<kiln_executable_dump_v1_fn>(proc), handle_);
  return true;
}

Event Executable::execute(const ExecuteCall& call) const {
  instance_->require_same_process(call.label);
  SmallArray<kiln_buffer*> inputs(call.inputs.size());
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    require_own(*call.inputs[i], instance_, "an input");
    inputs[i] = call.inputs[i]->handle();
  }
  SmallArray<kiln_state_in> states(call.states.size());
  for (std::size_t i = 0; i < call.states.size(); ++i) {
    require_own(*call.states[i].buffer, instance_, "a state");
    states[i] = abi::fresh<kiln_state_in>();
    states[i].buffer = call.states[i].buffer->handle();
    states[i].donate = call.states[i].donate ? 1 : 0;
    states[i].version = call.states[i].version;
  }
  SmallArray<kiln_buffer*> outputs(call.outputs.size());
  SmallArray<kiln_buffer*> updates(call.updates.size());
  list_results(call.outputs, outputs, instance_);
  list_results(call.updates, updates, instance_);

  auto args = abi::fresh<kiln_execute_args>();
  args.inputs = inputs.data();
  args.input_count = call.inputs.size();
  args.states = {states.data(), call.states.size(), sizeof(kiln_state_in)};
  args.outputs = outputs.data();
  args.output_count = call.outputs.size();
  args.state_out = updates.data();
  args.update_count = call.updates.size();
  args.seed = call.seed;
  args.call_counter = call.call_counter;
  args.host_call_context = call.host_calls;
  args.label = abi::string_of(call.label);
  kiln_event* event = nullptr;
  ResultHandles results(call);
  kiln_error* error = call_entry(instance_->plugin(), call.label, "execute",
                                 instance_->api().execute, handle_, &args, &event);
  if (error != nullptr) {
    if (call.host_calls != nullptr) rethrow_host_call(*instance_, error, *call.host_calls);
    throw_call_error(instance_->plugin(), error, call.label);
  }
  Event pending = event == nullptr ? Event() : Event(instance_, event);
  results.adopt(call.outputs, outputs, instance_, "output");
  results.adopt(call.updates, updates, instance_, "update");
  const bool has_thrown = call.host_calls != nullptr && call.host_calls->thrown;
  if (!results.is_broken() && !has_thrown) return pending;
  wait_ignoring_errors(pending);
  results.reset();
  if (has_thrown) std::rethrow_exception(call.host_calls->thrown);
  throw_broken(instance_->plugin(), call.label, "execute", results.violation());
}

BackendFrame Executable::make_frame(const kiln_frame_io& io) const {
  kiln_frame* frame = nullptr;
  instance_->invoke(abi::view_of(io.label), "frame_create", instance_->api().frame_create, handle_,
                    &io, &frame);
  return BackendFrame(*instance_, frame);
}

// ---- BackendFrame ----

BackendFrame::~BackendFrame() {
  if (handle_ == nullptr) return;
  instance_->destroy("frame_destroy", instance_->api().frame_destroy, handle_);
}

void BackendFrame::run(std::string_view label, const HostCallContext& host_calls) const {
  instance_->require_same_process(label);
  kiln_error* error =
      call_entry(instance_->plugin(), label, "frame_run", instance_->api().frame_run, handle_);
  rethrow_host_call(*instance_, error, host_calls);
  if (error != nullptr) throw_call_error(instance_->plugin(), error, label);
}

}  // namespace kiln::runtime
