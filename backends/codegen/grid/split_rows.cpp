// As many contiguous parts as fill the device, each large enough that combining them stays cheap.
#include "backends/codegen/grid/split_rows.h"

#include "backends/codegen/grid/additions.h"
#include "backends/codegen/grid/dependences.h"
#include "backends/codegen/grid/static_points.h"
#include "backends/codegen/kernel/needed.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

constexpr std::int64_t kMinParts = 4;     // fewer save less than their exchange costs
constexpr std::int64_t kPartsOfLane = 16;    // a lane combines at most that many, one by one
constexpr std::int64_t kPairBytes = 16;      // of Best: the largest value and its index
constexpr std::int64_t kPartAlignment = 16;  // slots of an array are padded to a multiple of it

bool uses_result(const Kernel& kernel, const Stage& stage) {
  const ExpressionFlags wanted = needed(kernel, roots_of(kernel, stage));
  for (const ExpressionId i : wanted.ids()) {
    if (wanted[i] && kernel.expressions[i].kind == ExpressionKind::StageResult) return true;
  }
  return false;
}

}  // namespace

std::string split_reason(const Kernel& kernel) {
  if (!order_reason(kernel).empty()) return "inner points run in order";
  if (adds_to_memory(kernel)) return "additions to memory";
  bool reduces = false;
  for (const StageId later : kernel.stages.ids()) {
    const Stage& stage = kernel.stages[later];
    if (!stage.inner) continue;
    if (stage.kind == StageKind::Running) return "a running stage";
    reduces = reduces || stage.kind == StageKind::Reduce;
    if (uses_result(kernel, stage)) return "a stage needs a result at every point";
    for (const StageId earlier : IdRange{StageId(0), later}) {
      if (needs_barrier(kernel, earlier, later)) return "a stage needs memory of other lanes";
    }
  }
  return reduces ? "" : "nothing is reduced";
}

Parts parts_of(const PartLimits& limits, std::int64_t points, std::int64_t inner) {
  const std::int64_t blocks = (points - 1) / limits.teams + 1;
  const std::int64_t max_parts =
      std::min({limits.blocks / blocks, inner / (limits.lanes * limits.part_points),
                limits.lanes * kPartsOfLane});
  if (max_parts < kMinParts) return {1, std::max<std::int64_t>(inner, 1)};
  // Whole rounds of the lanes' four accumulators.
  const std::int64_t round = 4 * limits.lanes, wanted = (inner - 1) / max_parts + 1;
  const std::int64_t length = ((wanted - 1) / round + 1) * round;
  return {(inner - 1) / length + 1, length};
}

bool may_have_parts(const Kernel& kernel, const PartLimits& limits, std::int64_t inner) {
  if (!split_reason(kernel).empty()) return false;
  const auto outer = static_cast<std::size_t>(kernel.outer);
  const std::int64_t points = static_points(std::span(kernel.axes).first(outer));
  if (points == 0 || inner == 0) return false;
  // More inner points give more parts, more outer points give fewer.
  const std::int64_t max_inner = inner < 0 ? INT64_MAX : inner;
  return parts_of(limits, std::max<std::int64_t>(points, 1), max_inner).count > 1;
}

std::int64_t partial_slots(std::int64_t points, std::int64_t parts) {
  return (points * parts + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
}

std::int64_t partial_bytes(const Kernel& kernel, std::int64_t points, std::int64_t parts) {
  return partial_slots(points, parts) * partial_offset(kernel, kernel.stages.ids().last);
}

std::int64_t partial_width(const Kernel& kernel, const Stage& stage) {
  if (stage.combiner == Combiner::ArgMax) return kPairBytes;
  const DType dtype = kernel.expressions[stage.value].dtype;
  return static_cast<std::int64_t>(dtype_bytes(dtype));
}

std::int64_t partial_offset(const Kernel& kernel, StageId stage) {
  std::int64_t bytes = 0;
  for (const StageId s : IdRange{StageId(0), stage}) {
    const Stage& one = kernel.stages[s];
    if (one.kind == StageKind::Reduce) bytes += partial_width(kernel, one);
  }
  return bytes;
}

}  // namespace kiln::codegen
