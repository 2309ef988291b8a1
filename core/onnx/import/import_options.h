// Checks the options of an import against the graph of its model.
#pragma once

#include "core/onnx/import/import.h"

namespace kiln::onnx {

/// Throws ValueError for a dim, a constant or an output whose name the graph lacks, with the
/// nearest name that it has; for a negative size; and for an output without a name.
void check_options(const GraphProto& graph, const ImportOptions& options);

/// The constant given for an input of the model `model`, as declared: a scalar can be given for one
/// element. Throws ValueError for another shape and for a number that an integer input cannot
/// hold, fractions included.
ir::Value constant_of_input(const ValueInfo& input, const ir::Value& given,
                            const std::string& model);

}  // namespace kiln::onnx
