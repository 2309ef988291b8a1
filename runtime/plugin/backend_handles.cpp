// Events, executables and frames: what an instance hands out, and how they are given back.
// Buffers are in backend_buffer.cpp.
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

/// `count` elements, on the stack when they are few.
template <class T>
class Row {
 public:
  explicit Row(std::size_t count) : count_(count) {
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
                      text(what, " lies at another backend than ", instance->name()), caller.where);
}

void list_results(std::span<Buffer> results, Row<kiln_buffer*>& handles, const InstancePtr& owner) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i]) require_own(results[i], owner, "a result");
    handles[i] = results[i].handle();
  }
}

/// Throws what a host function threw during the call, which the error of the plugin only repeats.
/// Results of a plugin that ignores the host function's error are discarded.
void rethrow_host_call(const Instance& instance, kiln_error* error,
                       const HostCallContext& host_calls) {
  if (!host_calls.thrown) return;
  if (error != nullptr) {
    destroy_handle(instance.plugin(), "error_destroy", instance.api().error_destroy, error);
  }
  std::rethrow_exception(host_calls.thrown);
}

/// The handles of one call, which a backend must not give for another value. A duplicated handle,
/// or one that replaces the host's, has no known owner and is not destroyed. Invariant: allocates
/// only in its constructor, so that no handle is lost once the backend ran.
class ResultHandles {
 public:
  explicit ResultHandles(const ExecuteCall& call) {
    const std::size_t results = call.outputs.size() + call.updates.size();
    known_.reserve(call.inputs.size() + call.states.size() + 2 * results);
    made_.reserve(results);
    for (const Buffer* input : call.inputs) known_.push_back(input->handle());
    for (const StateInput& state : call.states) known_.push_back(state.buffer->handle());
    for (const Buffer& given : call.outputs) known_.push_back(given.handle());
    for (const Buffer& given : call.updates) known_.push_back(given.handle());
    std::sort(known_.begin(), known_.end());
  }

  /// Takes over the buffers that the backend made for empty results.
  void take(std::span<Buffer> results, Row<kiln_buffer*>& handles, const InstancePtr& owner,
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
      const auto place = std::lower_bound(known_.begin(), known_.end(), handles[i]);
      if (place != known_.end() && *place == handles[i]) {
        note("gave the buffer of another value for ", what, i);
        continue;
      }
      known_.insert(place, handles[i]);
      results[i] = Buffer(owner, handles[i]);
      made_.push_back(&results[i]);
    }
  }

  bool is_broken() const { return fault_.deed != nullptr; }
  /// The first rule that was broken. REQUIRES: is_broken().
  std::string fault() const { return text(fault_.deed, fault_.what, " ", fault_.number); }
  /// Results that were empty are empty again.
  void give_back() noexcept {
    for (Buffer* one : made_) one->reset();
  }

 private:
  struct Fault {
    const char* deed = nullptr;
    const char* what = nullptr;
    std::size_t number = 0;
  };

  void note(const char* deed, const char* what, std::size_t i) noexcept {
    if (!is_broken()) fault_ = {deed, what, i};
  }

  std::vector<kiln_buffer*> known_;  // sorted
  std::vector<Buffer*> made_;
  Fault fault_;
};

/// Waits until the backend no longer uses the buffers of a call that failed: its own failure is not
/// the one to say.
void end_work(Event& pending) {
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
    destroy_handle(instance_->plugin(), "event_destroy", instance_->api().event_destroy,
                   std::exchange(handle_, nullptr));
  }
  instance_.reset();
}

void Event::wait() {
  // Waiting without limit may return early, but not without end.
  constexpr int kMaxWaits = 1'000'000;
  for (int i = 0; i < kMaxWaits; ++i) {
    if (wait_for(KILN_WAIT_FOREVER)) return;
  }
  throw_broken(instance_->plugin(), "", "event_wait",
               text("returned ", kMaxWaits, " times without limit before the work was over"));
}

bool Event::wait_for(std::uint64_t nanoseconds) {
  if (handle_ == nullptr) return true;
  instance_->require_same_process("");
  std::uint32_t done = 0;
  instance_->ask("", "event_wait", instance_->api().event_wait, handle_, nanoseconds, &done);
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
    destroy_handle(instance_->plugin(), "executable_destroy", instance_->api().executable_destroy,
                   std::exchange(handle_, nullptr));
  }
  instance_.reset();
}

ExecutableInfo Executable::info(const std::optional<ProgramCounts>& wanted) const {
  auto raw = abi::fresh<kiln_executable_info>();
  instance_->ask("", "executable_info", instance_->api().executable_info, handle_, &raw);
  return read_reported(instance_->plugin(), "", "executable_info", [&] {
    const ProgramCounts counts{raw.inputs, raw.states, raw.outputs, raw.updates};
    const bool told = counts != ProgramCounts{};
    if (wanted && told && counts != *wanted) {
      throw abi::BrokenStruct(text("gave ", counts, " but the module has ", *wanted));
    }
    for (const std::uint64_t count : {raw.code_generations, raw.bindings, raw.planned_bytes,
                                      raw.live_bytes}) {
      if (count > INT64_MAX) throw abi::BrokenStruct(text(count, " is no number of anything"));
    }
    ExecutableInfo info{counts, {}, raw.code_generations, raw.bindings, raw.planned_bytes,
                        raw.live_bytes, {}};
    const abi::ReportElements<kiln_message> messages(raw.messages, "messages");
    for (std::uint64_t i = 0; i < messages.size(); ++i) {
      const kiln_message message = messages[i];
      if (message.level > KILN_LOG_DEBUG) {
        throw abi::BrokenStruct(text("the level ", message.level, " of a message is not known"));
      }
      info.messages.emplace_back(message.level, shown_text(message.text, "text"));
    }
    if (!wanted || !told) return info;
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
  instance_->require_same_process("dump");
  instance_->ask("dump", KILN_PROC_EXECUTABLE_DUMP,
                 reinterpret_cast<kiln_executable_dump_v1_fn>(proc), handle_);
  return true;
}

Event Executable::execute(const ExecuteCall& call) const {
  instance_->require_same_process(call.label);
  Row<kiln_buffer*> inputs(call.inputs.size());
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    require_own(*call.inputs[i], instance_, "an input");
    inputs[i] = call.inputs[i]->handle();
  }
  Row<kiln_state_in> states(call.states.size());
  for (std::size_t i = 0; i < call.states.size(); ++i) {
    require_own(*call.states[i].buffer, instance_, "a state");
    states[i] = abi::fresh<kiln_state_in>();
    states[i].buffer = call.states[i].buffer->handle();
    states[i].donate = call.states[i].donate ? 1 : 0;
    states[i].version = call.states[i].version;
  }
  Row<kiln_buffer*> outputs(call.outputs.size());
  Row<kiln_buffer*> updates(call.updates.size());
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
  results.take(call.outputs, outputs, instance_, "output");
  results.take(call.updates, updates, instance_, "update");
  const bool has_thrown = call.host_calls != nullptr && call.host_calls->thrown;
  if (!results.is_broken() && !has_thrown) return pending;
  end_work(pending);
  results.give_back();
  if (has_thrown) std::rethrow_exception(call.host_calls->thrown);
  throw_broken(instance_->plugin(), call.label, "execute", results.fault());
}

Frame Executable::make_frame(const kiln_frame_io& io) const {
  instance_->require_same_process(abi::view_of(io.label));
  kiln_frame* frame = nullptr;
  instance_->ask(abi::view_of(io.label), "frame_create", instance_->api().frame_create, handle_,
                 &io, &frame);
  return Frame(*instance_, frame);
}

// ---- Frame ----

Frame::~Frame() {
  if (handle_ == nullptr) return;
  destroy_handle(instance_->plugin(), "frame_destroy", instance_->api().frame_destroy, handle_);
}

void Frame::run(std::string_view label, const HostCallContext& host_calls) const {
  instance_->require_same_process(label);
  kiln_error* error = call_entry(instance_->plugin(), label, "frame_run",
                                 instance_->api().frame_run, handle_);
  rethrow_host_call(*instance_, error, host_calls);
  if (error != nullptr) throw_call_error(instance_->plugin(), error, label);
}

}  // namespace kiln::runtime
