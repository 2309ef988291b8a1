// Lists of sizes and positions from the inputs of a node.
#include "core/onnx/import/shape_input.h"

namespace kiln::onnx {
ir::Dims shape_input(NodeContext& node, std::size_t i, const char* name) {
  if (auto dims = node.dims(i)) return *dims;
  return dims_of(Shape(node.tensor(i)), name);
}

ir::Dim position_of(const ir::Dim& given, const ir::Dim& size) {
  const bool is_from_end = less_equal(0, given) == ir::Ternary::No;
  if (is_from_end && given.is_static() && given.value() <= -kFarEnd + 1) return -1;
  return is_from_end ? size + given : given;
}

ir::Dim clamped(const ir::Dim& position, const ir::Dim& low, const ir::Dim& high) {
  if (position.is_static() && position.value() >= kFarEnd - 1) return high;
  return max(min(position, high), low);
}

}  // namespace kiln::onnx
