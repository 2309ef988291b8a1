// A call of a program with collectives, as its group sees it: opened before the program runs,
// closed before updates are published, and, if this rank fails, ended with the others.
#pragma once

#include "runtime/distributed/group_call.h"
#include "runtime/function/compile/lower_collectives.h"
#include "runtime/host/host_functions.h"

#include <kiln/where.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

namespace kiln::runtime {

class CollectiveCall : public CollectiveService {
 public:
  /// Waits for other operations of the process. `where`: the line of the user's call. Throws as
  /// GroupCall. REQUIRES: the program has collectives, and the arguments outlive the object.
  CollectiveCall(const ProgramCollectives& collectives, const std::string& function, Where where);
  ~CollectiveCall() override;

  /// The call of this thread; null for none.
  static CollectiveCall* current();

  /// Agrees on the call, once the inputs are checked; if the backend runs the collectives, that is
  /// left to it, so that a failure before leaves no rank in a collective. `symbols`: the values of
  /// the inputs' symbols.
  void open(std::span<const std::int64_t> symbols);
  void open_by_backend() override;
  void exchange(std::int64_t group, std::span<const std::byte> own,
                std::span<std::byte> all) override;
  [[noreturn]] void break_up(const std::string& reason) override;
  void start(std::size_t number, std::span<const HostView> operands) override;
  void wait(std::size_t number, std::span<const HostView> results) override;
  void agree() override;
  void close() override;
  /// Has the program agree before it writes over variables, from which on it cannot fail.
  void allow_overwrites() { may_overwrite_ = true; }
  /// Has the ranks agree on the learning phase that is fed to the function.
  void set_phase(bool phase) { call_.operation().phase = phase; }
  /// Has the ranks agree on the rows of a part of shards, too.
  void add_shard(std::int64_t rows);
  /// Takes part in what the others still do, then throws the failure, or the error of the group.
  [[noreturn]] void fail(const std::exception_ptr& failure);

 private:
  /// Adds a collective of these symbols to what the ranks agree on.
  void add(const ProgramCollective& collective, std::span<const std::int64_t> symbols);
  /// BackendError unless the views, `noun` of that collective, have that many bytes together.
  void require_bytes(const char* noun, std::size_t number, std::span<const HostView> views,
                     std::size_t expected);
  void start_next();
  /// Has the communication thread start what the failed program has not started. Gives the call up,
  /// as GroupCall::give_up(), if there is no memory for that.
  void drain();

  const ProgramCollectives& collectives_;
  distributed::GroupCall call_;
  std::vector<distributed::Collective> sized_;
  std::vector<std::uint64_t> started_;  // numbers of their jobs
  std::int64_t shard_rows_ = -1;  // negative: none
  bool is_described_ = false;  // sized_ and the operation's items are complete
  bool has_opened_ = false;  // or has tried to
  bool may_overwrite_ = false;
  bool has_agreed_ = false;  // that no rank has failed
};

/// Returns work(), as one call of a program, in the group of its collectives if it has any.
template <class Work>
auto call_in_group(const ProgramCollectives& collectives, const std::string& function, Where where,
                   const Work& work) {
  if (collectives.empty()) return work();
  CollectiveCall call(collectives, function, where);
  try {
    return work();
  } catch (...) {
    call.fail(std::current_exception());
  }
}

}  // namespace kiln::runtime
