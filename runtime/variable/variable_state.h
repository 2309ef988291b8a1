// The state of a Variable node: its current value (a Version) and copies of it at backends.
// A published version is immutable while anything else refers to it; one process-wide lock guards
// all current versions, so that a snapshot of several variables is consistent. A call writes a new
// value into the recycled version that an earlier call replaced (double buffering): steady training
// allocates nothing, and a failed call leaves the old value intact. Where the backend guarantees
// the latter and nothing else refers to the value, the call overwrites it in place, with half the
// memory traffic, and snapshots wait until the overwrite has ended.
#pragma once

#include "core/ir/node.h"
#include "core/ir/origin.h"
#include "core/types/fork.h"
#include "runtime/plugin/backend_instance.h"

#include <kiln/array.h>
#include <kiln/constraint.h>

#include <atomic>
#include <forward_list>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::runtime {

/// One value of a variable: on the host, at backends, or both; all copies are equal. on_host() and
/// at() add a missing copy; both are thread-safe.
class Version {
 public:
  Version() = default;
  explicit Version(Array value) : host_(std::move(value)) {}
  Version(const Version&) = delete;
  Version& operator=(const Version&) = delete;

  /// Identifies the value: equal numbers are equal values; never 0.
  std::uint64_t number() const { return number_; }
  /// Returns the host's copy. Throws OutOfMemory, BackendError.
  Array on_host();
  /// Returns the copy at that backend, valid as long as the version. `may_borrow`: a new copy may
  /// share the host's elements. Throws as on_host().
  const Buffer& at(const InstancePtr& instance, bool may_borrow = false);

  // ---- REQUIRES for the rest: the caller has the only reference ----

  /// Ensures that the buffer at that backend may be overwritten. Lends it the host's memory if no
  /// Array shares that and the backend can use it, so that the value is in memory once; the host
  /// then has no copy. Copies otherwise. Throws as on_host().
  void require_writable_copy(const InstancePtr& instance);
  /// Makes the version the destination of a new value: keeps or allocates one buffer at that
  /// backend and drops every other copy.
  void prepare(const InstancePtr& instance, DType dtype, Dims dims);
  /// Moves the buffer of prepare() out, and in again.
  Buffer take_buffer();
  void put_buffer(Buffer buffer);
  /// Records that the buffer at that backend holds a new value: drops every other copy, renumbers.
  void commit_overwrite(const InstancePtr& instance);
  /// Reverts an overwrite: drops the buffer at that backend if another copy still has the value;
  /// without one, as after lending, the overwritten contents become the value.
  void discard_overwrite(const InstancePtr& instance);
  /// Assigns a fresh number, once new contents are complete.
  void renumber() { number_ = next_number(); }

 private:
  friend class VersionRef;
  static std::uint64_t next_number();
  /// A copy at a backend.
  struct Copy {
    std::optional<Array> lender;  // of the memory that the buffer may borrow
    bool is_writable = true;  // the buffer has memory of its own, or borrows it for writing
    Buffer buffer;
  };
  const Copy* find(const Instance* instance) const;
  /// Drops every copy except a writable one at that backend.
  void keep_only(const InstancePtr& instance);
  /// Sets first_ after a change of copies_.
  void update_first();

  std::atomic<std::uint32_t> references_{1};
  std::uint64_t number_ = next_number();
  ForkMutex mutex_;  // host_ and copies_ each change by one store, so are whole in a child
  std::optional<Array> host_;
  std::forward_list<Copy> copies_;
  std::atomic<const Buffer*> first_{nullptr};  // of copies_.front(), read without the lock
};

/// A counted reference to a Version.
class VersionRef {
 public:
  VersionRef() = default;
  /// Adopts one count.
  explicit VersionRef(Version* counted) : version_(counted) {}
  VersionRef(const VersionRef& other) : version_(other.version_) {
    if (version_) version_->references_.fetch_add(1, std::memory_order_relaxed);
  }
  VersionRef(VersionRef&& other) noexcept : version_(std::exchange(other.version_, nullptr)) {}
  VersionRef& operator=(VersionRef other) noexcept {
    std::swap(version_, other.version_);
    return *this;
  }
  ~VersionRef() {
    if (version_ && version_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete version_;
    }
  }

  Version* operator->() const { return version_; }
  Version& operator*() const { return *version_; }
  explicit operator bool() const { return version_ != nullptr; }
  /// Whether this is the only reference. Acquire: accesses through released references have
  /// happened before.
  bool is_sole() const { return references() == 1; }
  std::uint32_t references() const { return version_->references_.load(std::memory_order_acquire); }

 private:
  Version* version_ = nullptr;
};

/// A call's request to overwrite the current value of a variable in place.
struct Overwrite {
  int variable = -1;  // index into the variables of a snapshot; -1: no request
  bool is_granted = false;  // until end_overwrite
};

class VariableStorage : public ir::VariableState {
 public:
  /// REQUIRES: the scope of the K function that creates the variable.
  VariableStorage(std::int64_t id, std::string name, Array value, Constraint constraint);

  const std::int64_t id;
  const std::string name;  // empty for none
  const DType dtype;
  const std::vector<std::int64_t> dims;
  const Constraint constraint;
  const ir::Origin origin;  // of the K function that created the variable

  /// Returns the current value; copies it from a backend if the host has none. Errors of a backend
  /// name the variable, here and below; OutOfMemory also gives its type, bytes and origin.
  Array read();
  /// Returns the value of one of the variable's versions.
  Array read(Version& version) const;
  /// Returns that version's buffer at the backend, copied there if needed. It borrows the host's
  /// elements if no function updates the variable, so that weights of inference are in memory once.
  const Buffer& buffer_at(Version& version, const InstancePtr& instance) const;
  /// Records that a function which updates the variable was compiled.
  void mark_updated() { is_updated_.store(true, std::memory_order_relaxed); }
  /// Whether the variable may differ between the ranks of a group.
  void set_per_rank() { is_per_rank_.store(true, std::memory_order_relaxed); }
  bool is_per_rank() const { return is_per_rank_.load(std::memory_order_relaxed); }
  /// Version::require_writable_copy of one of the variable's versions.
  void require_writable_copy(Version& version, const InstancePtr& instance) const;

  /// Returns a version with a buffer at that backend for the next value: the recycled one if
  /// nothing else refers to it, else a new one. REQUIRES: WriterLocks of the variable.
  VersionRef acquire(const InstancePtr& instance, DType type, Dims sizes);
  /// Keeps a version that is not current for acquire(); an empty one drops the kept one.
  /// REQUIRES: WriterLocks of the variable.
  void recycle(VersionRef version) { spare_ = std::move(version); }

  /// Swaps `version` with the current one, which a thread of a parent process may have been
  /// overwriting. REQUIRES: WriterLocks of the variable, and publish_mutex() exclusively.
  void publish(VersionRef& version) {
    std::swap(current_, version);
    overwritten_in_ = 0;
  }

  /// Guards the current version of every variable: shared for reading, exclusive for publishing.
  /// fork() holds it: no version is destroyed under it, as that takes other locks.
  static std::shared_mutex& publish_mutex();
  /// Reads the current versions of `variables` under one lock. Waits until none is being
  /// overwritten. BackendError in a forked child where the writer does not exist. REQUIRES:
  /// `values` are empty.
  static void snapshot(std::span<VariableStorage* const> variables, std::span<VersionRef> values);

  /// As above; under the same lock, grants each request whose value nothing else refers to.
  /// REQUIRES: WriterLocks of the variables of `requests`.
  static void snapshot(std::span<VariableStorage* const> variables, std::span<VersionRef> values,
                       std::span<Overwrite> requests);
  /// Ends a granted overwrite. REQUIRES: publish_mutex() exclusively. After the last one of a call,
  /// notify_overwrites_ended() wakes snapshots that wait.
  void end_overwrite() { overwritten_in_ = 0; }
  static void notify_overwrites_ended();

 private:
  friend class WriterLocks;
  template <class Lock>
  static void wait_until_readable(Lock& lock, std::span<VariableStorage* const> variables);

  std::atomic<bool> is_updated_{false}, is_per_rank_{false};
  VersionRef current_;  // guarded by publish_mutex()
  /// fork_count() + 1 of the process in which a call writes the current buffer, else 0; guarded by
  /// publish_mutex().
  std::uint32_t overwritten_in_ = 0;
  VersionRef spare_;  // guarded by writer_; may still have other references
  ForkMutex writer_;
};

/// Locks variables for writing, from reading the old values to publishing the new ones. Nested
/// objects of one thread are destroyed in reverse order.
class WriterLocks {
 public:
  /// Blocks until other writers release the variables. REQUIRES: `variables` are in id order, which
  /// prevents deadlock; they and `holder`, the name of the writing function, outlive the object.
  /// ValueError naming `argument` if this thread holds one of the locks already (self-deadlock).
  WriterLocks(std::span<VariableStorage* const> variables, std::string_view holder,
              const char* argument = "");
  ~WriterLocks();
  WriterLocks(const WriterLocks&) = delete;
  WriterLocks& operator=(const WriterLocks&) = delete;

  /// The holder of the innermost variables that this thread has locked; empty for none.
  static std::string_view innermost_holder();

 private:
  const std::span<VariableStorage* const> variables_;
  const std::string_view holder_;
  const WriterLocks* const outer_;
};

/// Returns the storage of a Variable node. REQUIRES: this process created the variable.
VariableStorage& storage_of(const ir::Value& variable);

}  // namespace kiln::runtime
