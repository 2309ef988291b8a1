// The operators of ONNX's default domain, as data: the rows of all groups.
#pragma once

#include "core/onnx/import/operator_row.h"

namespace kiln::onnx {

/// The operators of the default domain by group (groups.h), and the row of one; null for an unknown
/// name.
std::vector<std::span<const OperatorRow>> operator_groups();
const OperatorRow* operator_row(std::string_view name);

}  // namespace kiln::onnx
