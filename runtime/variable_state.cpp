#include "runtime/variable_state.h"

namespace kiln::runtime {

VariableStorage::VariableStorage(std::int64_t id, Array value, Constraint constraint)
    : id(id), constraint(std::move(constraint)), current_(std::make_shared<Version>()) {
  current_->host = std::move(value);
}

std::shared_mutex& VariableStorage::publish_mutex() {
  static auto* mutex = new std::shared_mutex;  // never destroyed: variables may be static objects
  return *mutex;
}

Array VariableStorage::Version::on_host() {
  const std::lock_guard lock(mutex);
  if (host) return *host;
  const Buffer& buffer = *copies.front().buffer;
  Array array = Array::zeros(buffer.dims(), buffer.dtype());
  buffer.copy_to_host({static_cast<std::byte*>(array.data()), array.bytes()});
  host = std::move(array);
  return *host;
}

BufferPtr VariableStorage::Version::at(const InstancePtr& instance) {
  {
    const std::lock_guard lock(mutex);
    for (const Copy& copy : copies) {
      if (copy.instance == instance.get()) return copy.buffer;
    }
  }
  const Array value = on_host();
  const std::lock_guard lock(mutex);
  for (const Copy& copy : copies) {  // another thread may have been faster
    if (copy.instance == instance.get()) return copy.buffer;
  }
  const void* data = static_cast<const Array&>(value).data();
  auto buffer = std::make_shared<const Buffer>(
      instance->import_copy(data, value.dtype(), value.dims()));
  copies.push_back({instance.get(), buffer});
  return buffer;
}

Array VariableStorage::read() {
  VariableStorage* self = this;
  return Snapshot({&self, 1}).on_host(0);
}

BufferPtr VariableStorage::read_at(const InstancePtr& instance) {
  VariableStorage* self = this;
  return Snapshot({&self, 1}).at(0, instance);
}

void VariableStorage::publish(Array value) {
  auto version = std::make_shared<Version>();
  version->host = std::move(value);
  current_ = std::move(version);
}

void VariableStorage::publish(BufferPtr value) {
  auto version = std::make_shared<Version>();
  const Instance* instance = value->instance().get();
  version->copies.push_back({instance, std::move(value)});
  current_ = std::move(version);
}

Snapshot::Snapshot(std::span<VariableStorage* const> variables) {
  versions_.reserve(variables.size());
  const std::shared_lock lock(VariableStorage::publish_mutex());
  for (const VariableStorage* variable : variables) versions_.push_back(variable->current_);
}

VariableStorage& storage_of(const ir::Value& variable) {
  return static_cast<VariableStorage&>(
      *variable.node->as<ir::VariableAttrs>().state.state);
}

}  // namespace kiln::runtime
