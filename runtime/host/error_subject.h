// Errors that arise below a tensor's owner get the name of that tensor from the owner.
#pragma once

#include "runtime/host/caller.h"

#include <kiln/error.h>

#include <string>

namespace kiln::runtime {

/// Throws `error` again with "; for SUBJECT" after its text. REQUIRES: thrown while the calls are
/// running in which it arose. An error of an Array names the running function instead of Array.
template <class Fault>
[[noreturn]] void throw_with_subject(const Fault& error, const std::string& subject) {
  const std::string before = error.function() + ": ";
  std::string fact = error.message();
  if (fact.starts_with(before)) fact.erase(0, before.size());
  const Caller caller = Caller::of();
  const bool is_renamed = error.function() == "Array" && !caller.function.empty();
  throw Fault(is_renamed ? caller.function : error.function(), error.argument(),
              fact + "; for " + subject, error.where());
}

/// work(), whose OutOfMemory gets the text that describe() returns as its subject.
template <class Describe, class Work>
decltype(auto) with_memory_subject(const Describe& describe, const Work& work) {
  try {
    return work();
  } catch (const OutOfMemory& error) {
    throw_with_subject(error, describe());
  }
}

}  // namespace kiln::runtime
