// Versions, their copies at backends, and the one lock under which they are read and published.
#include "runtime/variable/variable_state.h"

#include "core/types/text.h"
#include "runtime/array/array_memory.h"
#include "runtime/host/caller.h"
#include "runtime/host/error_subject.h"

#include <kiln/error.h>

#include <algorithm>
#include <condition_variable>

namespace kiln::runtime {

// ---- Version ----

std::uint64_t Version::next_number() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

Array Version::on_host() {
  const std::lock_guard lock(mutex_);
  if (host_) return *host_;
  const Buffer& buffer = *copies_.front();
  Array array = uninitialised_array(buffer.dims(), buffer.dtype());
  buffer.copy_to_host({static_cast<std::byte*>(fill_address(array)), array.bytes()});
  host_ = std::move(array);
  return *host_;
}

const Buffer* Version::find(const Instance* instance) const {
  for (const auto& copy : copies_) {
    if (copy->instance().get() == instance) return copy.get();
  }
  return nullptr;
}

const Buffer& Version::at(const InstancePtr& instance) {
  const Buffer* first = first_.load(std::memory_order_acquire);
  if (first != nullptr && first->instance() == instance) return *first;
  {
    const std::lock_guard lock(mutex_);
    if (const Buffer* found = find(instance.get())) return *found;
  }
  const Array value = on_host();
  const std::lock_guard lock(mutex_);
  if (const Buffer* found = find(instance.get())) return *found;  // another thread was faster
  const void* data = static_cast<const Array&>(value).data();
  copies_.push_back(
      std::make_unique<Buffer>(instance->import_copy(data, value.dtype(), value.dims())));
  first_.store(copies_.front().get(), std::memory_order_release);
  return *copies_.back();
}

void Version::keep_only(const InstancePtr& instance) {
  host_.reset();
  std::erase_if(copies_, [&](const auto& copy) { return copy->instance() != instance; });
}

void Version::prepare(const InstancePtr& instance, DType dtype, Dims dims) {
  keep_only(instance);
  if (copies_.empty()) {
    first_ = nullptr;
    copies_.push_back(std::make_unique<Buffer>(instance->allocate(dtype, dims)));
  }
  first_ = copies_.front().get();
}

Buffer Version::take_buffer() { return std::move(*copies_.front()); }

void Version::written_over(const InstancePtr& instance) {
  keep_only(instance);
  first_ = copies_.front().get();
  renumber();
}

void Version::reject_written(const InstancePtr& instance) {
  const auto is_there = [&](const auto& copy) { return copy->instance() == instance; };
  if (!host_ && std::all_of(copies_.begin(), copies_.end(), is_there)) {
    return written_over(instance);
  }
  std::erase_if(copies_, is_there);
  first_ = copies_.empty() ? nullptr : copies_.front().get();
}

void Version::put_buffer(Buffer buffer) { *copies_.front() = std::move(buffer); }

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

std::shared_mutex& VariableStorage::publish_mutex() {
  static auto* mutex = new std::shared_mutex;  // never destroyed: variables may be static objects
  return *mutex;
}

namespace {

/// Told when values are whole again. Never destroyed, as publish_mutex.
std::condition_variable_any& whole_again() {
  static auto* condition = new std::condition_variable_any;
  return *condition;
}

/// Forks before the thread that writes over a value, which a child does not have, took it.
std::atomic<std::uint32_t> forks_of_overwrites{0};

}  // namespace

namespace {

/// "variable 'w', 36 bytes of float32[3,3] (zeros at model.cpp:12)".
std::string description_of(const VariableStorage& variable) {
  std::int64_t bytes = static_cast<std::int64_t>(dtype_bytes(variable.dtype));
  for (const std::int64_t dim : variable.dims) bytes *= dim;
  std::string out = variable.name.empty() ? "a variable" : text("variable '", variable.name, "'");
  out += text(", ", bytes, " bytes of ", variable.dtype, "[", join_text(variable.dims, ","), "]");
  const Where where = variable.origin.where;
  if (!where.known()) return out;
  return out + text(" (", variable.origin.function, " at ", where.file, ":", where.line, ")");
}

/// work(), where an error of a backend names the variable. `part`: what of it needs the memory.
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

template <class Lock>
void VariableStorage::await_whole(Lock& lock, std::span<VariableStorage* const> variables) {
  const auto is_whole = [](const VariableStorage* variable) { return !variable->overwritten_; };
  while (!std::all_of(variables.begin(), variables.end(), is_whole)) {
    if (forks_of_overwrites != fork_count()) {
      const Caller caller = Caller::of();
      throw BackendError(caller.function, "",
                         "a variable was being written when the process forked; start a new "
                         "program instead of forking",
                         caller.where);
    }
    whole_again().wait(lock);
  }
}

void VariableStorage::snapshot(std::span<VariableStorage* const> variables,
                               std::span<VersionRef> values) {
  std::shared_lock lock(publish_mutex());
  await_whole(lock, variables);
  for (std::size_t i = 0; i < variables.size(); ++i) values[i] = variables[i]->current_;
}

void VariableStorage::snapshot(std::span<VariableStorage* const> variables,
                               std::span<VersionRef> values, std::span<Overwrite> wanted) {
  constexpr std::uint32_t kOurs = 2;  // the current value's own reference, and that in `values`
  whole_again();  // there from now on: the end of a call may find no memory to make it of
  std::unique_lock lock(publish_mutex());
  await_whole(lock, variables);
  for (std::size_t i = 0; i < variables.size(); ++i) values[i] = variables[i]->current_;
  for (Overwrite& one : wanted) {
    if (one.variable < 0) continue;
    const auto i = static_cast<std::size_t>(one.variable);
    one.taken = values[i].references() == kOurs;
    if (one.taken) variables[i]->overwritten_ = true;
  }
  forks_of_overwrites = fork_count();
}

void VariableStorage::overwrites_ended() { whole_again().notify_all(); }

Array VariableStorage::read() {
  VariableStorage* self = this;
  VersionRef value;
  snapshot({&self, 1}, {&value, 1});
  return read(*value);
}

Array VariableStorage::read(Version& version) const {
  return for_variable(*this, "", [&] { return version.on_host(); });
}

const Buffer& VariableStorage::place(Version& version, const InstancePtr& instance) const {
  return for_variable(*this, "", [&]() -> const Buffer& { return version.at(instance); });
}

VersionRef VariableStorage::take_spare(const InstancePtr& instance, DType type, Dims sizes) {
  const bool reusable = spare_ && spare_.is_sole();
  VersionRef version = reusable ? std::move(spare_) : VersionRef(new Version);
  for_variable(*this, "the new value of ",
               [&] { version->prepare(instance, type, sizes); });
  return version;
}

// ---- WriterLocks ----

namespace {

/// The innermost of this thread: a print sink of a running call may begin another one.
thread_local const WriterLocks* t_writers = nullptr;

}  // namespace

WriterLocks::WriterLocks(std::span<VariableStorage* const> variables, std::string_view holder,
                         const char* argument)
    : variables_(variables), holder_(holder), outer_(t_writers) {
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
  t_writers = this;
}

WriterLocks::~WriterLocks() {
  t_writers = outer_;
  for (VariableStorage* one : variables_) one->writer_.unlock();
}

VariableStorage& storage_of(const ir::Value& variable) {
  return static_cast<VariableStorage&>(
      *variable.node->as<ir::VariableAttrs>().state.state);
}

}  // namespace kiln::runtime
