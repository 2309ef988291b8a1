// Throws the error of a size that does not fit in 64 bits.
#include "core/ir/checked_size.h"

#include "core/ir/origin.h"

#include <kiln/error.h>

namespace kiln::ir::checked {

void reject(const std::string& message) {
  const Origin origin = current_origin();
  throw ValueError(origin.function, "", message, origin.where);
}

}  // namespace kiln::ir::checked
