// The error of a size that does not exist.
#include "core/ir/checked_size.h"

#include "core/ir/origin.h"

#include <kiln/error.h>

namespace kiln::ir::checked {

void refuse(const char* fact) {
  const Origin origin = current_origin();
  throw ValueError(origin.function, "", fact, origin.where);
}

}  // namespace kiln::ir::checked
