// Estimates from static extents whether a kernel runs long enough for longer code to pay off.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::cpu {

/// Whether the static extents show that the kernel has many points, so that faster code matters
/// more than the time to compile it.
bool has_many_points(const codegen::Kernel& kernel);

/// Whether the static extents show that the kernel has so few points that compiling longer code
/// takes more time than its calls save. Neither holds where an extent is unknown.
bool has_few_points(const codegen::Kernel& kernel);

}  // namespace kiln::cpu
