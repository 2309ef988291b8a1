// Fusion: from the results of a graph to the units that compute them.
#pragma once

#include "backends/codegen/fusion/units.h"

namespace kiln::codegen {

Units fuse(const std::vector<ir::Value>& results, const SizeNames& names,
           const FuseOptions& options);

}  // namespace kiln::codegen
