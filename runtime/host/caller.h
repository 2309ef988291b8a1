// The function that the user called, for errors below buffers, events and variables, where its name
// is not passed. A K function is known from its Call (core/k/base/tensor_impl.h), a call of a
// compiled function from RunningCall.
#pragma once

#include "core/ir/origin.h"

#include <string>
#include <string_view>

namespace kiln::runtime {

/// Marks this thread as running a call of a compiled function while it exists.
class RunningCall {
 public:
  /// REQUIRES: `name` outlives the object.
  explicit RunningCall(std::string_view name);
  ~RunningCall();
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

  /// The name of the innermost running call of this thread; empty for none.
  static std::string_view innermost_name();

 private:
  friend struct Caller;
  const std::string_view name_;
  const ir::Origin origin_;  // current at construction; a K function inside the call has another
  RunningCall* const outer_;
};

struct Caller {
  std::string function;  // empty for none
  Where where;  // the user's line; unknown for a compiled function

  /// Returns `function` unless it is empty, else the innermost running call of this thread.
  static Caller of(std::string_view function = {});
};

}  // namespace kiln::runtime
