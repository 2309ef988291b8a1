// Positions along axes that are values of the graph.
#pragma once

#include "core/onnx/import/node_context.h"

namespace kiln::onnx {

/// Indices along an axis of `size` elements, of which negative ones count from the end. Indices
/// below -size stay as they are, so that errors show them as given; so do indices known not to be
/// negative.
ir::Value wrapped_indices(NodeContext& node, const ir::Value& indices, const ir::Dim& size);

/// The indices as int64. A call whose indices are not all in [0, size) throws.
ir::Value checked_indices(const ir::Value& indices, const ir::Dim& size);

/// The linear index, in a tensor of these dims, of the entry whose coordinate i is coordinates[i],
/// of equal dims and int64. REQUIRES: they are inside of the dims, or the only one is the index of
/// an access, which checks it.
ir::Value linear_index(const std::vector<ir::Value>& coordinates, const ir::Dims& dims);

/// The linear index in x of each entry of `indices`, which replace the coordinate along `axis`
/// (GatherElements, ScatterElements). Calls check them, here and below, as given.
ir::Value element_index(NodeContext& node, const ir::Value& x, const ir::Value& indices, int axis);

/// The linear index of a row of the first axes of x for each tuple along the last axis of
/// `indices`, of which the first `batch_dims` axes are coordinates, too (GatherND, ScatterND).
struct TupleIndex {
  ir::Value index;  // dims of `indices` without its last one
  ir::Dims rows, row;  // the axes of x that the index counts, and those of a row
};
TupleIndex tuple_index(NodeContext& node, const ir::Value& x, const ir::Value& indices,
                       std::int64_t batch_dims);

}  // namespace kiln::onnx
