// A closed function: everything its results depend on is a constant, a DimSize or a Parameter of
// scope 0. How bodies are built and closed is in core/ops/lambda_builder.h.
#pragma once

#include "core/ir/node.h"

namespace kiln::ir {

struct Lambda {
  std::vector<Type> parameters;
  std::vector<Value> results;
  bool operator==(const Lambda&) const = default;
};

}  // namespace kiln::ir
