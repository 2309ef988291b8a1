// Adds the tensor that an error is about to the error's text.
#pragma once

#include "runtime/host/caller.h"

#include <kiln/error.h>

#include <string>

namespace kiln::runtime {

/// Throws `error` again with "; for SUBJECT" after its text. An error of an Array names the running
/// function instead of Array. REQUIRES: the Call in which the error arose is still running.
template <class Fault>
[[noreturn]] void throw_with_subject(const Fault& error, const std::string& subject) {
  const std::string before = error.function() + ": ";
  std::string message = error.message();
  if (message.starts_with(before)) message.erase(0, before.size());
  const Caller caller = Caller::of();
  const bool is_renamed = error.function() == "Array" && !caller.function.empty();
  throw Fault(is_renamed ? caller.function : error.function(), error.argument(),
              message + "; for " + subject, error.where());
}

/// Returns work(). Adds the text of describe() to an OutOfMemory that work() throws.
template <class Describe, class Work>
decltype(auto) with_memory_subject(const Describe& describe, const Work& work) {
  try {
    return work();
  } catch (const OutOfMemory& error) {
    throw_with_subject(error, describe());
  }
}

}  // namespace kiln::runtime
