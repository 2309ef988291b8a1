// Which carries of a scan take part in its gradient: those that vary with a wanted operand and
// that a given cotangent depends on. A fixed point over the body, since carries feed each other.
#pragma once

#include "core/ir/lambda.h"
#include "core/ir/attrs.h"

namespace kiln::autodiff {

struct Activity {
  std::vector<bool> carries;  // per carry
};

/// `wanted`: per operand of the Scan; `given`: per result, whether a cotangent reaches it.
Activity find_activity(const ir::ScanAttrs& attrs, const std::vector<bool>& wanted,
                       const std::vector<bool>& given);

}  // namespace kiln::autodiff
