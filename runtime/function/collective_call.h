// A call of a program with collectives, as its group sees it: opened before the program runs,
// closed before updates are published, and, if this rank fails, ended with the others.
#pragma once

#include "runtime/distributed/group_call.h"
#include "runtime/function/compile/lower_collectives.h"
#include "runtime/host/host_functions.h"

#include <kiln/where.h>

#include <exception>
#include <string>
#include <vector>

namespace kiln::runtime {

class CollectiveCall : public CollectiveService {
 public:
  /// Waits for other operations of the process. `where`: the line of the user's call.
  /// Throws as GroupCall. REQUIRES: `program` has collectives.
  CollectiveCall(const ProgramCollectives& program, const std::string& function, Where where);
  ~CollectiveCall() override;

  /// The call of this thread; null for none.
  static CollectiveCall* current();

  /// Agrees on the call, once the inputs are checked. `symbols`: the values of the inputs' symbols.
  void open(std::span<const std::int64_t> symbols);
  void run(std::size_t number, const void* operand, void* result) override;
  void close() override;
  /// Takes part in what the others still do, then rethrows: the failure, or the error of the group.
  [[noreturn]] void fail(const std::exception_ptr& failure);

 private:
  void run_next(const std::byte* from, std::byte* to);
  void prepare();

  const ProgramCollectives& program_;
  distributed::GroupCall call_;
  std::vector<distributed::Collective> sized_;
  std::vector<distributed::CollectiveRunner> runners_;
  std::size_t next_ = 0;  // number of the collective that runs next
  bool has_opened_ = false;  // or has tried
};

/// Returns work(), as one call of a program, in the group of its collectives if it has any.
template <class Work>
auto call_in_group(const ProgramCollectives& program, const std::string& function, Where where,
                   const Work& work) {
  if (program.empty()) return work();
  CollectiveCall call(program, function, where);
  try {
    return work();
  } catch (...) {
    call.fail(std::current_exception());
  }
}

}  // namespace kiln::runtime
