// Counts the points of axes whose extents are known when a kernel is compiled.
#pragma once

#include "core/ir/dim.h"

#include <cstdint>
#include <span>

namespace kiln::codegen {

/// The product of the extents; -1 where one is not static or the product is not below 2^63.
std::int64_t static_points(std::span<const ir::Dim> extents);

}  // namespace kiln::codegen
