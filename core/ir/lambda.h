// Lambda: a closed function, the body of a Scan or a branch of a Cond. Its results depend on
// constants, DimSizes and Parameters of scope 0 only. core/ops/lambda_builder.h builds them.
#pragma once

#include "core/ir/guard.h"
#include "core/ir/node.h"

namespace kiln::ir {

/// The deepest nesting of lambdas, which bounds recursion over them.
inline constexpr std::uint32_t kMaxNesting = 64;

struct Lambda {
  std::vector<Type> parameters;
  std::vector<Value> results;
  /// Checked when the branch is taken, or when the loop has at least one step. Nested lambdas hold
  /// their own guards. Rewrites keep them, so that an error does not depend on which nodes are
  /// left.
  std::vector<Guard> guards = {};
  bool operator==(const Lambda&) const = default;
};

}  // namespace kiln::ir
