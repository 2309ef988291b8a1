// The convolution of a node, which those of 8-bit integers share.
#pragma once

#include "core/onnx/import/node_context.h"

namespace kiln::onnx {

/// The convolution of x and w, channels first, by the attributes of the node; without a bias, its
/// channels last.
ir::Value convolved(const NodeContext& node, const ir::Value& x, const ir::Value& w);

}  // namespace kiln::onnx
