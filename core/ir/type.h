// Type: the dtype and dims of a value. Prints as float32[x.0,784].
#pragma once

#include "core/ir/dim.h"

#include <kiln/dtype.h>

namespace kiln::ir {

struct Type {
  DType dtype = DType::Float32;
  Dims dims;

  int rank() const { return static_cast<int>(dims.size()); }
  bool operator==(const Type&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Type& type);

}  // namespace kiln::ir
