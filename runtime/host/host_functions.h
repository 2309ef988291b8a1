// Functions that a HostCall node can name: each reads its operands in host memory and writes its
// results. To add one, write a function in its own file and add it to host_functions.cpp.
#pragma once

#include "runtime/array/host_view.h"

#include <kiln/array.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::runtime {

/// The place of this process in one of its groups.
struct CollectiveGroup {
  std::int64_t rank = 0, size = 1, local_rank = 0, local_size = 1;
  std::int64_t time_limit = INT64_MAX;  // milliseconds that a rank waits for others
  std::int64_t session = 0;  // numbers the sessions of the process that had ranks
};

/// The place in the group of that number; that of the only rank where the process is in no group.
/// ValueError for another number.
CollectiveGroup collective_group(std::int64_t number);

/// The side of a call that its group sees (runtime/function/collective_call.h).
class CollectiveService {
 public:
  virtual ~CollectiveService() = default;
  /// Agrees on the call, where the backend runs the collectives itself.
  virtual void open_by_backend() = 0;
  /// Gathers the bytes of all ranks of that group, in rank order.
  virtual void exchange(std::int64_t group, std::span<const std::byte> own,
                        std::span<std::byte> all) = 0;
  /// Makes the groups unusable, and throws the DistributedError that says why.
  [[noreturn]] virtual void break_up(const std::string& reason) = 0;
  /// Starts the collective of that number with all ranks; copies its operands.
  /// REQUIRES, here and below: tensors of its types.
  virtual void start(std::size_t number, std::span<const HostView> operands) = 0;
  /// Waits for it and copies its results.
  virtual void wait(std::size_t number, std::span<const HostView> results) = 0;
  /// Agrees that no rank has failed, if the program is about to write over variables.
  virtual void agree() = 0;
  /// The same if agree() has not: before any rank publishes its updates.
  virtual void close() = 0;
};

struct HostCallArguments {
  std::span<const std::byte> payload;  // attributes of the node
  std::span<const HostView> inputs;
  std::span<const HostView> outputs;
  std::string_view caller = {};  // name of the compiled function, for errors
  CollectiveService* collectives = nullptr;  // of the call; null: it has none
  std::string_view payload_text() const {
    return {reinterpret_cast<const char*>(payload.data()), payload.size()};
  }
};

using HostFunction = void (*)(const HostCallArguments&);

/// Returns the function of that name, or null.
HostFunction find_host_function(std::string_view name);

/// A host function whose result shapes are data-dependent. It runs between two programs of a
/// function (partitioned_program.h) and allocates its results. Throws errors of <kiln/error.h> for
/// the user's values.
using DataDependentFunction = std::vector<Array> (*)(std::string_view payload,
                                                     std::span<const Array> inputs);

/// Returns the function of that name, or null.
DataDependentFunction find_data_dependent_function(std::string_view name);

/// "print_tensor": prints "message value" and a line end to the sink of kiln/print.h, and copies
/// its input to its output. The payload is the message.
void host_print_tensor(const HostCallArguments& arguments);

/// "check_numerics": copies input 0 to its output. Throws a FloatingPointError if it has a NaN, or
/// has an infinity while none of the further inputs has one. The further inputs are the
/// floating-point operands of the op that computed input 0, then the step number, an int64 scalar,
/// of each loop around it. The payload is the beginning of the message: "op log at m.cpp:3 gives".
void host_check_numerics(const HostCallArguments& arguments);

/// "collective_start" starts the collective of its payload; its result is the int64 scalar 0, the
/// position of the call that follows. "collective_wait" waits for it and gives its
/// results; it has no inputs.
void host_collective_start(const HostCallArguments& arguments);
void host_collective_wait(const HostCallArguments& arguments);
/// "collective_agree" agrees that no rank has failed, once all collectives of the call have
/// started. From then on the call must not fail.
void host_collective_agree(const HostCallArguments& arguments);

// For backends that run collectives themselves; kiln_backend.h describes them.
void host_collective_group(const HostCallArguments& arguments);
void host_collective_open(const HostCallArguments& arguments);
void host_collective_exchange(const HostCallArguments& arguments);
void host_collective_break(const HostCallArguments& arguments);

/// Copies `value` to `result`. Throws BrokenStruct naming `function` if their types differ.
void copy_value(const HostView& value, const HostView& result, std::string_view function);

}  // namespace kiln::runtime
