// Calls of public functions: Call names the function and the user's line in nodes and errors;
// api_call() and translate_exceptions() run a body and turn failed allocations into OutOfMemory.
#pragma once

#include "core/ir/origin.h"

#include <new>
#include <stdexcept>
#include <string>

namespace kiln {

/// A call of a K function: sets the origin of the nodes that are made, and of the errors that are
/// thrown, during its scope. Of nested K functions the outermost, the user's call, is named.
class Call {
 public:
  Call(const char* function, Where where) : scope_({where, function}) {}

  /// The name and the line of the outermost running call.
  static std::string function();
  static Where where();
  /// Throws with function() and where().
  [[noreturn]] static void value_error(const char* argument, const std::string& message);
  [[noreturn]] static void type_error(const char* argument, const std::string& message);
  [[noreturn]] static void not_implemented(const char* argument, const std::string& message);
  /// Throws OutOfMemory that names the outermost running call, else `function`; if memory does not
  /// even suffice for that, the text is just "no memory".
  [[noreturn]] static void out_of_memory(const char* function, Where where);

 private:
  ir::OriginScope scope_;
};

/// Returns work(). Turns std::bad_alloc, and std::length_error for more elements than a container
/// can hold, into an OutOfMemory that names `function`, as Call::out_of_memory(). Each public
/// function runs in it or in api_call(). Always inlined, so that the body stays one function.
template <class Work>
[[gnu::always_inline]] inline decltype(auto) translate_exceptions(const char* function, Where where,
                                                                  const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    Call::out_of_memory(function, where);
  } catch (const std::length_error&) {
    Call::out_of_memory(function, where);
  }
}

/// translate_exceptions() of work() during a Call of `function`:
///   Tensor squeeze(const Operand& x, ..) { return api_call("squeeze", x.where(), [&] { .. }); }
template <class Work>
[[gnu::always_inline]] inline decltype(auto) api_call(const char* function, Where where,
                                                      const Work& work) {
  return translate_exceptions(function, where, [&]() -> decltype(auto) {
    const Call call(function, where);
    return work();
  });
}

}  // namespace kiln
