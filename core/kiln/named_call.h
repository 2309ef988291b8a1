// named_call: makes one call of a function of your own that is composed of K functions.
#pragma once

#include <kiln/export.h>
#include <kiln/where.h>

#include <new>
#include <stdexcept>

namespace kiln {

/// The scope of named_call().
class KILN_API NamedCall {
 public:
  NamedCall(const char* function, Where where);
  ~NamedCall();
  NamedCall(const NamedCall&) = delete;
  NamedCall& operator=(const NamedCall&) = delete;
  /// Throws OutOfMemory that names the outermost running call, else `function`.
  [[noreturn]] static void out_of_memory(const char* function, Where where);

 private:
  Where outer_where_;
  const char* outer_function_;
};

/// Returns work(), run as one call of `function` at `where`: nodes that K functions make meanwhile,
/// and errors that they throw, carry this name and line; within another such call, its name and
/// line. A failed allocation becomes an OutOfMemory of that name. function: static storage.
template <class Work>
decltype(auto) named_call(const char* function, Where where, const Work& work) {
  try {
    const NamedCall scope(function, where);
    return work();
  } catch (const std::bad_alloc&) {
    NamedCall::out_of_memory(function, where);
  } catch (const std::length_error&) {
    NamedCall::out_of_memory(function, where);
  }
}

}  // namespace kiln
