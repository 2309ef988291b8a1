// Programs in float16 or bfloat16 whose sums pass the largest float16, 65504, or the number of
// steps from which a half does not grow by 1, 256 and 2048; each pass has one to change.
#pragma once

#include <kiln/k.h>

#include <utility>
#include <vector>

namespace kiln::testing {

struct HalfProgram {
  std::vector<Tensor> inputs;
  std::vector<Array> feeds;  // float64
  std::vector<Tensor> outputs;
  std::vector<std::pair<int, int>> updates;  // an output is the new value of an input
  std::vector<bool> unchanged;  // of each input: it counts as a variable without update
};

struct HalfTemplate {
  const char* name;
  HalfProgram (*make)(DType dtype);
  /// Whether the graph as written gives the exact results, rounded once.
  bool is_exact = false;
  /// Whether the optimised one does.
  bool is_exact_after_passes = false;
};

const std::vector<HalfTemplate>& half_templates();

}  // namespace kiln::testing
