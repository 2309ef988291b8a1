// The function that a user called, for errors that arise where nobody passes its name: below
// buffers, events and variables. A K function is known from its Call, in
// core/k/frame/tensor_impl.h, a call of a compiled function from RunningCall.
#pragma once

#include "core/ir/origin.h"

#include <string>
#include <string_view>

namespace kiln::runtime {

/// While it lives, this thread is in a call of the function of that name.
class RunningCall {
 public:
  /// REQUIRES: `name` outlives it.
  explicit RunningCall(std::string_view name);
  ~RunningCall();
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

 private:
  friend struct Caller;
  const std::string_view name_;
  const ir::Origin origin_;  // when the call began: another one is that of a K function within it
  RunningCall* const outer_;
};

struct Caller {
  std::string function;  // empty where there is none
  Where where;           // unknown where the name is that of a compiled function

  /// `function` where that is not empty, else the innermost call of this thread.
  static Caller of(std::string_view function = {});
};

}  // namespace kiln::runtime
