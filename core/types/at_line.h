// The public functions that do not build a graph run their work in here: an error that knows no
// line of the user's yet gets that of the call.
#pragma once

#include <kiln/error.h>

namespace kiln {

template <class Work>
decltype(auto) at_line(Where where, const Work& work) {
  try {
    return work();
  } catch (Error& error) {
    error.place(where);
    throw;
  }
}

}  // namespace kiln
