// Activity analysis of a Scan: which carries need gradients, because they depend on a wanted
// operand and a given cotangent depends on them. A fixed point over the body, since carries feed
// each other.
#pragma once

#include "core/ir/lambda.h"
#include "core/ir/attrs.h"

namespace kiln::autodiff {

struct Activity {
  std::vector<bool> carries;  // whether each carry is active
};

/// `wanted`: per operand of the Scan, whether its cotangent is needed. `given`: per result, whether
/// it has a cotangent.
Activity find_activity(const ir::ScanAttrs& attrs, const std::vector<bool>& wanted,
                       const std::vector<bool>& given);

}  // namespace kiln::autodiff
