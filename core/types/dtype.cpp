// Prints dtypes.
#include <kiln/dtype.h>

#include <ostream>

namespace kiln {

std::ostream& operator<<(std::ostream& out, DType dtype) {
  if (!is_dtype(dtype)) return out << "DType(" << static_cast<int>(dtype) << ")";
  return out << dtype_name(dtype);
}

}  // namespace kiln
