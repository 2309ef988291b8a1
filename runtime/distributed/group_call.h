// One call of a compiled function by a group: its ranks agree on it, compute, run collectives on
// the way, and agree that none has failed before any of them publishes its updates.
#pragma once

#include "runtime/distributed/group.h"

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace kiln::runtime::distributed {

class GroupCall {
 public:
  /// Waits until no other thread of the process is in an operation. Throws as Group::run for a
  /// group that cannot be used; ValueError within another call of this thread.
  GroupCall(std::shared_ptr<Group> group, Operation operation);
  ~GroupCall();
  GroupCall(const GroupCall&) = delete;
  GroupCall& operator=(const GroupCall&) = delete;

  /// What the ranks have to agree on; may be changed until open().
  Operation& operation() { return operation_; }
  /// Whether the ranks have agreed on the call and not on its end.
  bool is_open() const { return is_open_; }

  /// Agrees on the call. `prepare` runs before that on the communication thread and makes room for
  /// the collectives. Throws this rank's failure, else DistributedError; then the call is over.
  void open(const std::function<void()>& prepare);
  /// Runs a collective on the communication thread. REQUIRES: is_open().
  /// Throws DistributedError if that breaks the group; then the call is over.
  void run(const std::function<void()>& collective);
  /// Agrees that no rank has failed, and ends the call. Throws as open(). REQUIRES: is_open(), and
  /// the rank has run all collectives.
  void close(const std::exception_ptr& failure);

 private:
  /// Runs on the communication thread.
  void run_job(const Group::Steps& job);
  void throw_if_failed();

  std::shared_ptr<Group> group_;
  Operation operation_;
  std::unique_lock<ForkMutex> lock_;
  std::optional<Agreement> agreement_;
  bool is_open_ = false;
};

}  // namespace kiln::runtime::distributed
