// A closed function: everything its results depend on is a constant, a DimSize or a Parameter of
// scope 0. How bodies are built and closed is in core/ops/lambda_builder.h.
#pragma once

#include "core/ir/guard.h"
#include "core/ir/node.h"

namespace kiln::ir {

struct Lambda {
  std::vector<Type> parameters;
  std::vector<Value> results;
  /// Checked whenever the lambda is entered: for each branch that is taken, and for a loop of at
  /// least one step. Nested lambdas hold their own guards. Graph rewrites keep them, so that an
  /// error does not depend on which nodes survived.
  std::vector<Guard> guards = {};
  bool operator==(const Lambda&) const = default;
};

}  // namespace kiln::ir
