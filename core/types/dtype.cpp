// Printing of dtypes.
#include <kiln/dtype.h>

#include <ostream>

namespace kiln {

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << dtype_name(dtype); }

}  // namespace kiln
