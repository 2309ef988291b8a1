// The groups of the table of operators, each in the file of its import functions.
#pragma once

#include "core/onnx/import/table.h"

namespace kiln::onnx {

std::span<const OperatorRow> activation_operators();
std::span<const OperatorRow> elementwise_operators();
std::span<const OperatorRow> movement_operators();
std::span<const OperatorRow> reduce_operators();
std::span<const OperatorRow> shape_operators();

}  // namespace kiln::onnx
