// Buffers, events and executables: what an instance hands out, and how they are given back.
#include "runtime/backend_instance.h"

#include <kiln/error.h>

#include "backends/abi/kiln_backend_structs.h"
#include "core/types/text.h"

#include <array>

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
  throw InternalError("", "", text(what, " lies at another backend than ", instance->name()));
}

void list_results(std::span<Buffer> results, Row<kiln_buffer*>& handles, const InstancePtr& owner) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i]) require_own(results[i], owner, "a result");
    handles[i] = results[i].handle();
  }
}

void take_results(std::span<Buffer> results, Row<kiln_buffer*>& handles, const InstancePtr& owner) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i] && handles[i] != nullptr) results[i] = Buffer(owner, handles[i]);
  }
}

}  // namespace

// ---- Buffer ----

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  reset();
  instance_ = std::move(other.instance_);
  handle_ = std::exchange(other.handle_, nullptr);
  return *this;
}

void Buffer::reset() noexcept {
  if (handle_ != nullptr) instance_->api().buffer_destroy(std::exchange(handle_, nullptr));
  instance_.reset();
}

kiln_buffer_info Buffer::info() const {
  if (handle_ == nullptr) throw InternalError("", "", "an empty buffer was asked about");
  auto info = abi::fresh<kiln_buffer_info>();
  instance_->require_ok(instance_->api().buffer_info(handle_, &info));
  if (info.dtype >= static_cast<std::uint32_t>(kDTypeCount)) {
    throw BackendError("", "", text("backend ", instance_->name(), " reports a buffer of dtype ",
                                    info.dtype));
  }
  return info;
}

DType Buffer::dtype() const { return static_cast<DType>(info().dtype); }

std::vector<std::int64_t> Buffer::dims() const {
  const kiln_buffer_info known = info();
  const Dims view = abi::view_of(known.dims);
  return {view.begin(), view.end()};
}

std::size_t Buffer::bytes() const { return info().size; }
const void* Buffer::host_data() const { return info().host_data; }

void Buffer::copy_to_host(std::span<std::byte> destination) const {
  if (handle_ == nullptr) throw InternalError("", "", "an empty buffer was read");
  // A null destination would only ask for the size, also where there is nothing to copy.
  std::byte nothing{};
  void* target = destination.data() == nullptr ? &nothing : destination.data();
  std::uint64_t size = 0;
  instance_->require_ok(
      instance_->api().buffer_copy_to_host(handle_, target, destination.size(), &size));
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
  if (handle_ != nullptr) instance_->api().event_destroy(std::exchange(handle_, nullptr));
  instance_.reset();
}

void Event::wait() {
  while (!wait_for(KILN_WAIT_FOREVER)) {
  }
}

bool Event::wait_for(std::uint64_t nanoseconds) {
  if (handle_ == nullptr) return true;
  instance_->require_same_process("");
  std::uint32_t done = 0;
  instance_->require_ok(instance_->api().event_wait(handle_, nanoseconds, &done));
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
  if (handle_ != nullptr) instance_->api().executable_destroy(std::exchange(handle_, nullptr));
  instance_.reset();
}

ExecutableInfo Executable::info() const {
  auto raw = abi::fresh<kiln_executable_info>();
  instance_->require_ok(instance_->api().executable_info(handle_, &raw));
  ExecutableInfo info{raw.inputs,           raw.states,   raw.outputs,       raw.updates, {},
                      raw.code_generations, raw.bindings, raw.planned_bytes, raw.live_bytes, {}};
  const abi::ReportElements<kiln_message> messages(raw.messages, "kiln_message");
  for (std::uint64_t i = 0; i < messages.size(); ++i) {
    const kiln_message message = messages[i];
    info.messages.emplace_back(message.level, abi::view_of(message.text));
  }
  info.updates_in_place.resize(raw.updates, false);
  for (std::uint64_t i = 0; raw.updates_in_place != nullptr && i < raw.updates; ++i) {
    info.updates_in_place[i] = raw.updates_in_place[i] != 0;
  }
  return info;
}

bool Executable::dump() const {
  const kiln_proc proc =
      instance_->api().get_proc(abi::string_of(std::string_view(KILN_PROC_EXECUTABLE_DUMP)));
  if (proc == nullptr) return false;
  instance_->require_same_process("dump");
  instance_->require_ok(reinterpret_cast<kiln_executable_dump_v1_fn>(proc)(handle_), "dump");
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
  kiln_error* error = instance_->api().execute(handle_, &args, &event);
  if (error != nullptr && call.host_calls != nullptr && call.host_calls->thrown) {
    instance_->api().error_destroy(error);  // only repeats what the host function threw
    std::rethrow_exception(call.host_calls->thrown);
  }
  instance_->require_ok(error, call.label);
  Event pending = event == nullptr ? Event() : Event(instance_, event);
  take_results(call.outputs, outputs, instance_);
  take_results(call.updates, updates, instance_);
  for (const Buffer& result : call.outputs) instance_->require_made(result.handle(), "output");
  for (const Buffer& result : call.updates) instance_->require_made(result.handle(), "update");
  return pending;
}

Frame Executable::make_frame(const kiln_frame_io& io) const {
  instance_->require_same_process(abi::view_of(io.label));
  kiln_frame* frame = nullptr;
  instance_->require_ok(instance_->api().frame_create(handle_, &io, &frame),
                        abi::view_of(io.label));
  return Frame(*instance_, frame);
}

// ---- Frame ----

Frame::~Frame() {
  if (handle_ != nullptr) instance_->api().frame_destroy(handle_);
}

void Frame::run(std::string_view label, const HostCallContext& host_calls) const {
  instance_->require_same_process(label);
  kiln_error* error = instance_->api().frame_run(handle_);
  if (error == nullptr) return;
  if (host_calls.thrown) {
    instance_->api().error_destroy(error);  // only repeats what the host function threw
    std::rethrow_exception(host_calls.thrown);
  }
  throw_error(instance_->plugin(), error, label);
}

}  // namespace kiln::runtime
