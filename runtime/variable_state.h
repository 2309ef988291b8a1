// The state behind a Variable node: one authoritative value with a version, and copies at backends
// made when needed. Invariants: a published buffer is never written again; all buffers are
// published and read together under one process-wide lock, so that a snapshot of several variables
// is of one moment; `writer` is held by whoever is computing a new value (in id order).
#pragma once

#include "core/ir/node.h"
#include "runtime/backend_instance.h"

#include <kiln/array.h>
#include <kiln/variable.h>

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <vector>

namespace kiln::runtime {

/// A value of one moment: on the host, at a backend, or both.
using BufferPtr = std::shared_ptr<const Buffer>;

class VariableStorage : public ir::VariableState {
 public:
  VariableStorage(std::int64_t id, Array value, Constraint constraint);

  const std::int64_t id;
  const Constraint constraint;
  /// Held from reading the old value to publishing the new one.
  std::mutex writer;

  /// The value as an array; copies it from a backend when it is there alone.
  Array read();
  /// The value at that backend; imports it when it is not there yet.
  BufferPtr read_at(const InstancePtr& instance);

  /// REQUIRES: publish_mutex() held exclusively.
  void publish(Array value);
  void publish(BufferPtr value);

  /// Guards the current value of every variable: shared for reading, exclusive for publishing.
  static std::shared_mutex& publish_mutex();

 private:
  friend class Snapshot;
  struct Copy {
    const Instance* instance;
    BufferPtr buffer;
  };
  /// One version of the value. Its copies are added lazily under its own mutex; the contents of
  /// all of them are equal.
  struct Version {
    std::mutex mutex;
    std::optional<Array> host;
    std::vector<Copy> copies;

    Array on_host();
    BufferPtr at(const InstancePtr& instance);
  };
  std::shared_ptr<Version> current_;  // guarded by publish_mutex()
};

/// The values of some variables at one moment.
class Snapshot {
 public:
  explicit Snapshot(std::span<VariableStorage* const> variables);
  Array on_host(std::size_t i) const { return versions_[i]->on_host(); }
  BufferPtr at(std::size_t i, const InstancePtr& instance) const {
    return versions_[i]->at(instance);
  }

 private:
  std::vector<std::shared_ptr<VariableStorage::Version>> versions_;
};

/// The storage behind a Variable node. REQUIRES: the node is a variable made by this process.
VariableStorage& storage_of(const ir::Value& variable);

}  // namespace kiln::runtime
