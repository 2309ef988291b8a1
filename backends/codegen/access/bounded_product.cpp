// The arithmetic of dims throws on overflow.
#include "backends/codegen/access/bounded_product.h"

#include <kiln/error.h>

namespace kiln::codegen {

std::optional<ir::Dim> bounded_product(const ir::Dim& a, const ir::Dim& b) {
  try {
    return a * b;
  } catch (const ValueError&) {
    return std::nullopt;
  }
}

ir::Dim bounded_distance(const ir::Dim& a, const ir::Dim& b) {
  return bounded_product(a, b).value_or(ir::Dim(0));
}

}  // namespace kiln::codegen
