// One call of a compiled function by a group: its ranks agree on it, compute, run collectives on
// the way, and agree that none has failed before any of them publishes its updates.
#pragma once

#include "runtime/distributed/group.h"

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace kiln::runtime::distributed {

class GroupCall {
 public:
  /// Waits until no other thread of the process is in an operation. Throws as Group::run for a
  /// group that cannot be used; ValueError within another call of this thread.
  GroupCall(std::shared_ptr<Group> group, Operation operation);
  ~GroupCall();
  GroupCall(const GroupCall&) = delete;
  GroupCall& operator=(const GroupCall&) = delete;

  /// All that the ranks have to agree on; may be changed until open().
  Operation& operation() { return operation_; }
  /// Whether the ranks have agreed on the call and not on its end.
  bool is_open() const { return is_open_; }

  /// Agrees on the call. `prepare` runs before that on the communication thread and makes room for
  /// the collectives; what it throws is a failure of this rank. Throws this rank's failure, else
  /// DistributedError; then the call is over.
  void open(const std::function<void()>& prepare);
  /// Has the communication thread run a collective, after those before it; returns its number.
  /// REQUIRES: is_open(); what `collective` uses lives until the call is over.
  std::uint64_t start(std::function<void()> collective);
  /// Waits for the end of that collective. DistributedError if the group breaks; then the call is
  /// over.
  void wait(std::uint64_t number);
  /// Agrees that no rank has failed, and ends the call. Throws as open(). REQUIRES: is_open(), and
  /// the rank has started all collectives.
  void close(const std::exception_ptr& failure);
  /// Makes the groups of the process unusable, as this rank failed after the ranks had agreed.
  void break_up(const std::exception_ptr& failure);
  /// Ends the call and makes the groups of the process unusable, since a rank may be gone. Throws
  /// the DistributedError that says why.
  [[noreturn]] void give_up(const std::string& reason);

 private:
  /// Runs a job on the communication thread.
  void run_job(Group::Steps job) { wait(add(std::move(job))); }
  std::uint64_t add(Group::Steps job);
  void throw_if_failed();

  std::shared_ptr<Group> group_;
  Operation operation_;
  std::unique_lock<ForkMutex> lock_;
  std::optional<Agreement> agreement_;
  bool is_open_ = false;
};

}  // namespace kiln::runtime::distributed
