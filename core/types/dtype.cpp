// Printing of dtypes.
#include <kiln/dtype.h>

#include <ostream>

namespace kiln {

std::ostream& operator<<(std::ostream& out, DType dtype) {
  const auto number = static_cast<int>(dtype);
  if (number >= kDTypeCount) return out << "DType(" << number << ")";
  return out << dtype_name(dtype);
}

}  // namespace kiln
