// Versions, their copies at backends, and the lock under which they are read and published.
#include "runtime/variable/variable_state.h"

#include "core/types/no_destructor.h"
#include "core/types/text.h"
#include "runtime/array/array_memory.h"
#include "runtime/host/caller.h"
#include "runtime/host/error_subject.h"

#include <kiln/error.h>

#include <algorithm>
#include <memory>

namespace kiln::runtime {

// ---- Version ----

std::uint64_t Version::next_number() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

Array Version::on_host() {
  const std::lock_guard lock(mutex_);
  if (host_) return *host_;
  const Buffer& buffer = copies_.front().buffer;
  Array array = uninitialised_array(buffer.dims(), buffer.dtype());
  buffer.copy_to_host({static_cast<std::byte*>(fill_address(array)), array.bytes()});
  host_ = std::move(array);
  return *host_;
}

const Version::Copy* Version::find(const Instance* instance) const {
  for (const Copy& copy : copies_) {
    if (copy.buffer.instance().get() == instance) return &copy;
  }
  return nullptr;
}

void Version::update_first() {
  first_.store(copies_.empty() ? nullptr : &copies_.front().buffer, std::memory_order_release);
}

const Buffer& Version::at(const InstancePtr& instance, bool may_borrow) {
  const Buffer* first = first_.load(std::memory_order_acquire);
  if (first != nullptr && first->instance() == instance) return *first;
  {
    const std::lock_guard lock(mutex_);
    if (const Copy* found = find(instance.get())) return found->buffer;
  }
  std::forward_list<Copy> made(1);
  Copy& added = made.front();
  const Array& value = added.lender.emplace(on_host());
  const std::lock_guard lock(mutex_);
  if (const Copy* found = find(instance.get())) return found->buffer;  // added by another thread
  added.is_writable = !may_borrow;
  if (may_borrow) {
    added.buffer = instance->import_immutable(value.data(), value.dtype(), value.dims());
  } else {
    added.buffer = instance->import_copy(value.data(), value.dtype(), value.dims());
    added.lender.reset();
  }
  copies_.splice_after(copies_.before_begin(), made);
  update_first();
  return added.buffer;
}

void Version::require_writable_copy(const InstancePtr& instance) {
  if (const Copy* found = find(instance.get()); found != nullptr && found->is_writable) return;
  std::forward_list<Copy> made(1);  // here: nothing may throw once the host's memory is lent
  Copy& own = made.front();
  copies_.remove_if([&](const Copy& copy) { return copy.buffer.instance() == instance; });
  update_first();
  static_cast<void>(on_host());
  const Array& value = *host_;
  if (is_sole_owner(value)) {
    own.buffer = instance->import_mutable(fill_address(*host_), value.dtype(), value.dims());
    if (own.buffer.host_data() == value.data()) {
      own.lender = std::move(host_);
      host_.reset();
    }
  } else {
    own.buffer = instance->import_copy(value.data(), value.dtype(), value.dims());
  }
  copies_.splice_after(copies_.before_begin(), made);
  update_first();
}

void Version::keep_only(const InstancePtr& instance) {
  copies_.remove_if(
      [&](const Copy& copy) { return !copy.is_writable || copy.buffer.instance() != instance; });
  host_.reset();
}

void Version::prepare(const InstancePtr& instance, DType dtype, Dims dims) {
  keep_only(instance);
  if (copies_.empty()) {
    first_ = nullptr;
    std::forward_list<Copy> made(1);
    made.front().buffer = instance->allocate(dtype, dims);
    copies_.splice_after(copies_.before_begin(), made);
  }
  update_first();
}

Buffer Version::take_buffer() { return std::move(copies_.front().buffer); }

void Version::commit_overwrite(const InstancePtr& instance) {
  keep_only(instance);
  update_first();
  renumber();
}

void Version::discard_overwrite(const InstancePtr& instance) {
  const auto is_at_instance = [&](const Copy& copy) { return copy.buffer.instance() == instance; };
  if (!host_ && std::all_of(copies_.begin(), copies_.end(), is_at_instance)) {
    return commit_overwrite(instance);
  }
  copies_.remove_if(is_at_instance);
  update_first();
}

void Version::put_buffer(Buffer buffer) { copies_.front().buffer = std::move(buffer); }

// ---- VariableStorage ----

VariableStorage::VariableStorage(std::int64_t id, std::string name, Array value,
                                 Constraint constraint)
    : id(id),
      name(std::move(name)),
      dtype(value.dtype()),
      dims(value.dims()),
      constraint(std::move(constraint)),
      origin(ir::current_origin()),
      current_(new Version(std::move(value))) {}

namespace {

KILN_AT_LOAD NoDestructor<std::shared_mutex> all_current_versions;

/// glibc identifies the thread that holds a shared_mutex by a number that changes in a child, so
/// that only a new one is unlocked there.
[[maybe_unused]] const bool are_versions_held =
    ::pthread_atfork([] { all_current_versions->lock(); }, [] { all_current_versions->unlock(); },
                     [] { std::construct_at(&*all_current_versions); }) == 0;

/// How often notify_overwrites_ended() was called; snapshots wait for a change.
constinit std::atomic<std::uint32_t> ended_overwrites{0};

/// Describes a variable: "variable 'w', 36 bytes of float32[3,3] (zeros at model.cpp:12)".
std::string description_of(const VariableStorage& variable) {
  std::int64_t bytes = static_cast<std::int64_t>(dtype_bytes(variable.dtype));
  for (const std::int64_t dim : variable.dims) bytes *= dim;
  std::string out = variable.name.empty() ? "a variable" : text("variable '", variable.name, "'");
  out += text(", ", bytes, " bytes of ", variable.dtype, "[", join_text(variable.dims, ","), "]");
  const Where where = variable.origin.where;
  if (!where.known()) return out;
  return out + text(" (", variable.origin.function, " at ", where.file, ":", where.line, ")");
}

/// Returns work(); an error of a backend names the variable. `part` precedes the variable in the
/// text of an OutOfMemory.
template <class Work>
decltype(auto) for_variable(const VariableStorage& variable, const char* part, const Work& work) {
  try {
    return work();
  } catch (const OutOfMemory& error) {
    throw_with_subject(error, part + description_of(variable));
  } catch (const BackendError& error) {
    if (variable.name.empty()) throw;
    throw_with_subject(error, text("variable '", variable.name, "'"));
  }
}

}  // namespace

std::shared_mutex& VariableStorage::publish_mutex() { return *all_current_versions; }

template <class Lock>
void VariableStorage::wait_until_readable(Lock& lock, std::span<VariableStorage* const> variables) {
  const auto is_overwritten = [](const VariableStorage* variable) {
    return variable->overwritten_in_ != 0;
  };
  while (true) {
    const auto found = std::find_if(variables.begin(), variables.end(), is_overwritten);
    if (found == variables.end()) return;
    if ((*found)->overwritten_in_ != fork_count() + 1) {
      const Caller caller = Caller::of();
      throw BackendError(caller.function, "",
                         "a variable was being written when the process forked; set its value, or "
                         "start a new program instead of forking",
                         caller.where);
    }
    const std::uint32_t ended = ended_overwrites;
    lock.unlock();
    ended_overwrites.wait(ended);
    lock.lock();
  }
}

void VariableStorage::snapshot(std::span<VariableStorage* const> variables,
                               std::span<VersionRef> values) {
  std::shared_lock lock(publish_mutex());
  wait_until_readable(lock, variables);
  for (std::size_t i = 0; i < variables.size(); ++i) values[i] = variables[i]->current_;
}

void VariableStorage::snapshot(std::span<VariableStorage* const> variables,
                               std::span<VersionRef> values, std::span<Overwrite> requests) {
  constexpr std::uint32_t kOwnReferences = 2;  // current_ and `values`
  std::unique_lock lock(publish_mutex());
  wait_until_readable(lock, variables);
  for (std::size_t i = 0; i < variables.size(); ++i) values[i] = variables[i]->current_;
  for (Overwrite& request : requests) {
    if (request.variable < 0) continue;
    const auto i = static_cast<std::size_t>(request.variable);
    request.is_granted = values[i].references() == kOwnReferences;
    if (request.is_granted) variables[i]->overwritten_in_ = fork_count() + 1;
  }
}

void VariableStorage::notify_overwrites_ended() {
  ++ended_overwrites;
  ended_overwrites.notify_all();
}

Array VariableStorage::read() {
  VariableStorage* self = this;
  VersionRef value;
  snapshot({&self, 1}, {&value, 1});
  return read(*value);
}

Array VariableStorage::read(Version& version) const {
  return for_variable(*this, "", [&] { return version.on_host(); });
}

const Buffer& VariableStorage::buffer_at(Version& version, const InstancePtr& instance) const {
  const bool may_borrow = !is_updated_.load(std::memory_order_relaxed);
  return for_variable(*this, "",
                      [&]() -> const Buffer& { return version.at(instance, may_borrow); });
}

void VariableStorage::require_writable_copy(Version& version, const InstancePtr& instance) const {
  for_variable(*this, "", [&] { version.require_writable_copy(instance); });
}

VersionRef VariableStorage::acquire(const InstancePtr& instance, DType type, Dims sizes) {
  const bool is_reusable = spare_ && spare_.is_sole();
  VersionRef version = is_reusable ? std::move(spare_) : VersionRef(new Version);
  for_variable(*this, "the new value of ", [&] { version->prepare(instance, type, sizes); });
  return version;
}

// ---- WriterLocks ----

namespace {

/// The innermost WriterLocks of this thread: a print sink of a running call may start another call.
thread_local const WriterLocks* t_innermost = nullptr;

}  // namespace

WriterLocks::WriterLocks(std::span<VariableStorage* const> variables, std::string_view holder,
                         const char* argument)
    : variables_(variables), holder_(holder), outer_(t_innermost) {
  for (const WriterLocks* held = outer_; held != nullptr; held = held->outer_) {
    for (const VariableStorage* one : held->variables_) {
      if (std::find(variables.begin(), variables.end(), one) == variables.end()) continue;
      const Caller caller = Caller::of();
      throw ValueError(caller.function, argument,
                       text(one->name.empty() ? "a variable" : text("variable '", one->name, "'"),
                            " cannot be written within the call of ", held->holder_,
                            ", which updates it: a print sink may only read it"),
                       caller.where);
    }
  }
  for (VariableStorage* one : variables) one->writer_.lock();
  t_innermost = this;
}

WriterLocks::~WriterLocks() {
  t_innermost = outer_;
  for (VariableStorage* one : variables_) one->writer_.unlock();
}

std::string_view WriterLocks::innermost_holder() {
  const WriterLocks* held = t_innermost;
  while (held != nullptr && held->variables_.empty()) held = held->outer_;
  return held == nullptr ? std::string_view() : held->holder_;
}

VariableStorage& storage_of(const ir::Value& variable) {
  return static_cast<VariableStorage&>(*variable.node->as<ir::VariableAttrs>().state.state);
}

}  // namespace kiln::runtime
