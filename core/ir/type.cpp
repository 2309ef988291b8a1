// Prints types.
#include "core/ir/type.h"

#include <ostream>

namespace kiln::ir {

std::ostream& operator<<(std::ostream& out, const Type& type) {
  return out << type.dtype << to_string(type.dims);
}

}  // namespace kiln::ir
