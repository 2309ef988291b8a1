// Attributes errors to a source line: public functions that build no graph nodes run their work in
// at_line(), so that errors from deeper code, which does not know the line, still name the call.
#pragma once

#include <kiln/error.h>

namespace kiln {

/// Returns work(). An Error that it throws and that has no line yet gets `where`.
template <class Work>
decltype(auto) at_line(Where where, const Work& work) {
  try {
    return work();
  } catch (Error& error) {
    error.set_where(where);
    throw;
  }
}

}  // namespace kiln
