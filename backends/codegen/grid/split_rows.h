// Split-k reductions: several blocks of one launch divide the inner points of an outer point.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <string>

namespace kiln::codegen {

/// The reason why blocks cannot divide the inner points of an outer point; empty: they can. They
/// can if no stage over inner axes uses the result of a reduction or memory that other lanes wrote,
/// and no store accumulates.
std::string split_reason(const Kernel& kernel);

/// The limits that a schedule and a device set for the number of parts.
struct PartLimits {
  std::int64_t lanes = 1, teams = 1;  // of a team, of a block
  std::int64_t blocks = 1;  // resident on the device at a time
  std::int64_t part_points = 1;  // minimum of a lane's inner points in a part
};

/// The parts of each outer point in a launch over `points` points with `inner` inner ones.
struct Parts {
  std::int64_t count = 1;
  std::int64_t points = 1;  // inner points of each but the last one, which may have fewer
};
Parts parts_of(const PartLimits& limits, std::int64_t points, std::int64_t inner);
/// Whether parts_of() gives several parts for some sizes of the kernel. `inner`: the number of
/// inner points; -1: not static.
bool may_have_parts(const Kernel& kernel, const PartLimits& limits, std::int64_t inner);

/// The memory of partial results: for each reduction, in the order of stages, an array with a slot
/// for each part of each point, [points][parts] in Rows and [parts][points] in Columns, padded to a
/// multiple of 16 slots. The functions return the slots of an array and the bytes of all arrays.
/// REQUIRES of the memory: aligned to 16 bytes.
std::int64_t partial_slots(std::int64_t points, std::int64_t parts);
std::int64_t partial_bytes(const Kernel& kernel, std::int64_t points, std::int64_t parts);
/// Bytes of a slot of a reduction: the width of its accumulator.
std::int64_t partial_width(const Kernel& kernel, const Stage& stage);
/// Bytes of one slot of each of the reductions before the stage.
std::int64_t partial_offset(const Kernel& kernel, StageId stage);

}  // namespace kiln::codegen
