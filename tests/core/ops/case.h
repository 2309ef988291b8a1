// One row of the op table's tests.
#pragma once

#include "core/ops/op.h"

#include <vector>

namespace kiln::test {

struct Case {
  ir::Op op;
  /// Types of the differentiable (float64 in the gradient tests) or given operands.
  std::vector<ir::Type> operands;
  /// The op's results on these operands.
  std::vector<ir::Value> (*build)(const std::vector<ir::Value>& x);
  /// The first result by a plain formula, from the operands' elements; null: checked by other means
  /// named in `instead`.
  std::vector<double> (*formula)(const std::vector<std::vector<double>>& x) = nullptr;
  const char* instead = "";
  /// Operands are drawn from here, away from kinks.
  double low = -2, high = 2;
  /// Highest order of gradient that is compared with finite differences; 0: none, the op's
  /// definition says why.
  int gradient_order = 2;
  double tolerance = 1e-6;
};

std::vector<Case> cases();

}  // namespace kiln::test
