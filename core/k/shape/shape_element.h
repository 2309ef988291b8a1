// Elements of tensors that are evaluated while the graph is built.
#pragma once

#include "core/ir/dim.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace kiln {

/// An element of an evaluated tensor. Integers are dims, bools the dims 0 and 1. A float is either
/// a known number or a dim divided by a power of two, as `cast(size, float32) * 0.5` makes it.
struct ShapeElement {
  ir::Dim dim;
  std::int64_t divisor = 1;
  std::optional<double> number = {};
};

/// Elements in C order; nullopt for one that depends on data.
using ShapeElements = std::vector<std::optional<ShapeElement>>;

}  // namespace kiln
