// named_call whose errors have the caller's line even where the body throws them without one.
#pragma once

#include <kiln/error.h>
#include <kiln/named_call.h>

namespace kiln {

/// Returns work(), run as one call of `function` at `where`. Errors without a line get `where`.
/// function: static storage.
template <class Work>
decltype(auto) at_call(const char* function, Where where, const Work& work) {
  try {
    return named_call(function, where, work);
  } catch (Error& error) {
    error.set_where(where);
    throw;
  }
}

/// Returns fn(x) as a function of x that runs as one call of `function` at `where`: the line that
/// makes a constraint or regularizer, as calls of std::function pass no line. function: static
/// storage.
template <class Fn>
auto named_function(const char* function, Where where, Fn fn) {
  return [=](const auto& x) { return at_call(function, where, [&] { return fn(x); }); };
}

}  // namespace kiln
