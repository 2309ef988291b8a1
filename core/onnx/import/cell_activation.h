// The activation functions of recurrent cells, which ONNX nodes name with their parameters.
#pragma once

#include "core/onnx/import/node_context.h"

#include <span>
#include <string_view>
#include <vector>

namespace kiln::onnx {

struct CellActivation {
  using Function = ir::Value (*)(const ir::Value& x, double alpha, double beta);

  Function function;
  double alpha, beta;
  double clip;  // of the operand, to [-clip, clip]; infinity: none

  ir::Value operator()(const ir::Value& x) const;
};

/// The attribute `activations`, or else `defaults` for each direction: as many as there are
/// defaults and directions. activation_alpha and activation_beta are consumed in the order of the
/// functions that take them. Throws ValueError for too few functions or an unknown one.
std::vector<CellActivation> cell_activations(NodeContext& node,
                                             std::span<const std::string_view> defaults,
                                             std::size_t directions);

}  // namespace kiln::onnx
