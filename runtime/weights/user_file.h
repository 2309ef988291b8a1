// Errors of files as the user's call sees them.
#pragma once

#include "core/k/base/call.h"

#include <kiln/error.h>
#include <kiln/where.h>

namespace kiln::runtime {

/// Returns work(); its errors name the user's call and line.
template <class Work>
auto with_file(Where where, const Work& work) {
  try {
    return work();
  } catch (const IoError& error) {
    const bool is_named = !error.function().empty();  // by a call that the work made
    if (is_named) throw;
    throw IoError(Call::function(), "path", error.message(), Call::where());
  } catch (Error& error) {
    error.set_where(where);
    throw;
  }
}

}  // namespace kiln::runtime
