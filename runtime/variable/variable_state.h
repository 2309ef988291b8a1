// The state behind a Variable node: one authoritative value with a version, and copies at backends
// made when needed. Invariants: a published version is never written again while anyone refers to
// it; all versions are published and read together under one process-wide lock, so that a snapshot
// of several variables is of one moment; WriterLocks are held by whoever is computing a new
// value. A value that was replaced stays as the spare, whose buffer the next update writes, so
// that steady training allocates nothing and a failed call leaves the old value untouched. Where a
// backend can leave it so, too, and nobody else refers to the value, it is written over instead:
// half the memory to go through. Snapshots wait for it meanwhile.
#pragma once

#include "core/ir/node.h"
#include "core/ir/origin.h"
#include "runtime/plugin/backend_instance.h"

#include <kiln/array.h>
#include <kiln/constraint.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::runtime {

/// The value of one moment: on the host, at backends, or both; all copies are equal. Copies are
/// added when they are asked for, from any thread.
class Version {
 public:
  Version() = default;
  explicit Version(Array value) : host_(std::move(value)) {}
  Version(const Version&) = delete;
  Version& operator=(const Version&) = delete;

  /// Equal numbers are equal values; never 0.
  std::uint64_t number() const { return number_; }
  Array on_host();
  /// Valid as long as the version.
  const Buffer& at(const InstancePtr& instance);

  // ---- For a version that nobody else refers to ----

  /// Makes it the destination of a new value at that backend: one buffer there, nothing else.
  void prepare(const InstancePtr& instance, DType dtype, Dims dims);
  /// The buffer of prepare, out and in again.
  Buffer take_buffer();
  void put_buffer(Buffer buffer);
  /// The buffer at that backend has a new value.
  void written_over(const InstancePtr& instance);
  /// The same, where that value is not wanted: the value is that of another copy if there is one.
  void reject_written(const InstancePtr& instance);
  /// The contents are whole now.
  void renumber() { number_ = next_number(); }

 private:
  friend class VersionRef;
  static std::uint64_t next_number();
  const Buffer* find(const Instance* instance) const;
  /// Forgets all copies but the one at that backend.
  void keep_only(const InstancePtr& instance);

  std::atomic<std::uint32_t> references_{1};
  std::uint64_t number_ = next_number();
  std::mutex mutex_;
  std::optional<Array> host_;
  std::vector<std::unique_ptr<Buffer>> copies_;      // the first is first_
  std::atomic<const Buffer*> first_{nullptr};  // found without the lock
};

/// A counted reference.
class VersionRef {
 public:
  VersionRef() = default;
  explicit VersionRef(Version* counted) : version_(counted) {}  // takes over one count
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
  /// Whether this is the only reference; what others did through theirs has happened.
  bool is_sole() const { return references() == 1; }
  std::uint32_t references() const {
    return version_->references_.load(std::memory_order_acquire);
  }

 private:
  Version* version_ = nullptr;
};

/// A value that a call wants to write over.
struct Overwrite {
  int variable = -1;   // its number in the list of a snapshot, or none
  bool taken = false;  // it may, until end_overwrite
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
  const ir::Origin origin;  // where it was created
  /// The value as an array; copies it from a backend when it is there alone. An error of that
  /// backend names the variable, here and below; OutOfMemory also says its type, its bytes and
  /// where it was created.
  Array read();
  /// The same of one of its versions.
  Array read(Version& version) const;
  /// One of its versions at that backend; an error names the variable.
  const Buffer& place(Version& version, const InstancePtr& instance) const;

  /// Somewhere to write the next value at that backend; an error names the variable.
  /// REQUIRES: WriterLocks of it.
  VersionRef take_spare(const InstancePtr& instance, DType type, Dims sizes);
  /// Keeps a version that is not current for take_spare. REQUIRES: WriterLocks of it.
  void keep_spare(VersionRef version) { spare_ = std::move(version); }

  /// Makes `version` current, which holds the replaced one afterwards.
  /// REQUIRES: WriterLocks of it, and publish_mutex() exclusively.
  void publish(VersionRef& version) { std::swap(current_, version); }

  /// Guards the current value of every variable: shared for reading, exclusive for publishing.
  static std::shared_mutex& publish_mutex();
  /// The values of some variables at one moment. Waits for those that are being written over.
  static void snapshot(std::span<VariableStorage* const> variables, std::span<VersionRef> values);

  /// The same, and at that moment each of `wanted` is taken whose value nobody else refers to.
  /// REQUIRES: their writers held.
  static void snapshot(std::span<VariableStorage* const> variables, std::span<VersionRef> values,
                       std::span<Overwrite> wanted);
  /// REQUIRES: taken, and publish_mutex() exclusively; then overwrites_ended().
  void end_overwrite() { overwritten_ = false; }
  static void overwrites_ended();

 private:
  friend class WriterLocks;
  template <class Lock>
  static void await_whole(Lock& lock, std::span<VariableStorage* const> variables);

  VersionRef current_;        // guarded by publish_mutex()
  bool overwritten_ = false;  // guarded by it, too: its buffer is being written
  VersionRef spare_;          // guarded by writer_; what others still refer to is not reused
  std::mutex writer_;
};

/// The right to write some variables, from reading their old values to publishing the new ones. The
/// objects of one thread are destroyed in reverse order.
class WriterLocks {
 public:
  /// Waits for other threads that have it. REQUIRES: `variables` are in id order, so that two
  /// threads cannot wait for each other; they and `holder`, the function that writes, outlive this.
  /// ValueError, which names `argument`, where this thread has the right to one of them already: it
  /// would wait for itself.
  WriterLocks(std::span<VariableStorage* const> variables, std::string_view holder,
              const char* argument = "");
  ~WriterLocks();
  WriterLocks(const WriterLocks&) = delete;
  WriterLocks& operator=(const WriterLocks&) = delete;

 private:
  const std::span<VariableStorage* const> variables_;
  const std::string_view holder_;
  const WriterLocks* const outer_;
};

/// The storage behind a Variable node. REQUIRES: the node is a variable made by this process.
VariableStorage& storage_of(const ir::Value& variable);

}  // namespace kiln::runtime
