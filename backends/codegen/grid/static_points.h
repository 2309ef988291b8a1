// The number of points of static extents.
#pragma once

#include "core/ir/dim.h"

#include <cstdint>
#include <span>

namespace kiln::codegen {

/// The product of the extents; -1: some extent is not static, or the product is 2^63 or more.
std::int64_t static_points(std::span<const ir::Dim> extents);

}  // namespace kiln::codegen
