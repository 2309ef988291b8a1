// Adds the tensor that caused an error to the error's text.
#pragma once

#include "runtime/host/caller.h"

#include <kiln/error.h>

#include <string>

namespace kiln::runtime {

/// Throws `error` again with "; for SUBJECT" appended to its text. An error of Array names the
/// running function instead. REQUIRES: the Call that raised the error is still running.
template <class SomeError>
[[noreturn]] void throw_with_subject(const SomeError& error, const std::string& subject) {
  const std::string before = error.function() + ": ";
  std::string message = error.message();
  if (message.starts_with(before)) message.erase(0, before.size());
  const Caller caller = Caller::of();
  const bool is_renamed = error.function() == "Array" && !caller.function.empty();
  throw SomeError(is_renamed ? caller.function : error.function(), error.argument(),
                  message + "; for " + subject, error.where());
}

/// Returns work(); appends describe() to the text of an OutOfMemory.
template <class Describe, class Work>
decltype(auto) with_memory_subject(const Describe& describe, const Work& work) {
  try {
    return work();
  } catch (const OutOfMemory& error) {
    throw_with_subject(error, describe());
  }
}

}  // namespace kiln::runtime
