// Pooling of regions of interest: a loop over the regions, which keeps one image at a time.
#pragma once

#include "core/onnx/import/node_context.h"

#include <functional>

namespace kiln::onnx {

/// The regions along one axis, vectors of one entry each.
struct RegionAxis {
  ir::Value start, extent;
  std::int64_t bins;  // along the axis of the result
  ir::Dim size;  // of the axis of the image
};

/// Throws ValueError unless x is a batch of images, and rois a matrix of this many columns.
void require_regions(const NodeContext& node, const ir::Value& x, const ir::Value& rois,
                     std::int64_t columns);
/// Column i of the regions, a vector.
ir::Value region_column(const ir::Value& rois, std::int64_t i);

/// The bins of one region, (channels, height, width): of its image, and its slices of rows and
/// columns.
using RegionPool = std::function<ir::Value(const ir::Value& image, const ir::Value& rows,
                                           const ir::Value& columns)>;
/// The results of `pool`, stacked. `batch`: the image of each region, int64. `rows`, `columns`: a
/// slice for each region.
ir::Value over_regions(const ir::Value& x, const ir::Value& batch, const ir::Value& rows,
                       const ir::Value& columns, const RegionPool& pool);

}  // namespace kiln::onnx
