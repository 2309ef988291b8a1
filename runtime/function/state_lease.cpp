// A call that updates variables in place holds the overwrite until it publishes or is reverted.
#include "runtime/function/state_lease.h"

#include "runtime/variable/variable_snapshot.h"

#include <mutex>
#include <utility>

namespace kiln::runtime {

StateLease::~StateLease() {
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

void StateLease::acquire() {
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

void StateLease::reject() {
  for (std::size_t i = 0; i < prepared_.next.size(); ++i) {
    if (writes_in_place(i)) state_of(i).discard_overwrite(program_.instance);
  }
}

void StateLease::commit() {
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

void StateLease::acquire_current() {
  if (!program_.writers.empty()) locks_.emplace(program_.writers, program_.name);
  if (program_.overwrites && prepared_.is_direct()) {
    VariableStorage::snapshot(program_.state_storages, prepared_.held, prepared_.overwrites);
    overwrites_ = true;
  } else if (!prepared_.held.empty()) {
    VariableStorage::snapshot(program_.state_storages, prepared_.held);
  }
}

void StateLease::end_overwrites() {
  for (Overwrite& request : prepared_.overwrites) {
    if (std::exchange(request.is_granted, false)) {
      program_.state_storages[static_cast<std::size_t>(request.variable)]->end_overwrite();
    }
  }
  overwrites_ = false;
  VariableStorage::notify_overwrites_ended();
}

}  // namespace kiln::runtime
