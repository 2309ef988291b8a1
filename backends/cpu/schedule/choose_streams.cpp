// Chooses streaming (non-temporal) stores. An ordinary store first loads the line that it
// overwrites; a streaming store does not, which saves a third of the traffic of a copy. Its line is
// in no cache afterwards, so only results that would not stay in the caches are streamed.
#include "backends/cpu/schedule/decisions.h"
#include "core/types/at.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace kiln::cpu {
namespace {

using namespace codegen;

bool is_multiple(const ir::Dim& elements, std::int64_t element_bytes, std::int64_t line) {
  return elements.is_static() && elements.value() % line * element_bytes % line == 0;
}

/// Whether elements along the vector axis are contiguous, rows of them begin at cache lines, and
/// every point has an element of its own.
bool stores_whole_lines(const Kernel& kernel, const Access& access, std::int64_t line) {
  const auto element =
      static_cast<std::int64_t>(dtype_bytes(kernel.operands[access.operand].dtype));
  if (access.dynamic || access.when) return false;
  if (!is_multiple(access.offset, element, line)) return false;
  for (int axis = 0; axis < static_cast<int>(kernel.axes.size()); ++axis) {
    const ir::Dim& stride = access.strides[at(axis)];
    if (axis == kernel.vector_axis || kernel.axes[at(axis)].is_one()) continue;
    if (stride == ir::Dim(0) || !is_multiple(stride, element, line)) return false;
  }
  return access.strides[at(kernel.vector_axis)].is_one();
}

/// Bytes from the first to the last accessed element; 0 where an extent or a stride is unknown.
/// (One part of a concatenation spans nearly all of the result.)
std::int64_t spanned_bytes(const Kernel& kernel, const Access& access) {
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < kernel.axes.size(); ++axis) {
    const ir::Dim& extent = kernel.axes[axis];
    if (!extent.is_static() || extent.value() == 0) return 0;
    if (extent.is_one()) continue;
    if (!access.strides[axis].is_static()) return 0;
    last += (extent.value() - 1) * std::abs(access.strides[axis].value());
  }
  return (last + 1) * static_cast<std::int64_t>(dtype_bytes(kernel.operands[access.operand].dtype));
}

/// The bytes that accesses of the chosen operands span.
std::int64_t spanned_bytes(const Kernel& kernel, const IdVector<OperandId, bool>& chosen) {
  IdVector<OperandId, std::int64_t> spans(kernel.operands.size());
  for (const Access& access : kernel.accesses) {
    if (!chosen[access.operand]) continue;
    std::int64_t& span = spans[access.operand];
    span = std::max(span, spanned_bytes(kernel, access));
  }
  return std::accumulate(spans.begin(), spans.end(), std::int64_t{0});
}

/// Whether the kernel only writes the operand, by one store of whole lines.
bool can_be_streamed(const ScheduleInput& in, OperandId operand, int lanes,
                     const TileSchedule& tiles) {
  const Kernel& kernel = in.kernel;
  const std::int64_t line = in.cpu.tuning.line_bytes;
  const Operand& written = kernel.operands[operand];
  if (!written.written || written.read) return false;
  const bool has_inner = kernel.outer < static_cast<int>(kernel.axes.size());
  int stores = 0;
  for (const Stage& stage : kernel.stages) {
    for (const Store& one : stage.stores) {
      const Access& access = kernel.accesses[one.access];
      if (access.operand != operand) continue;
      ++stores;
      if (one.accumulate || (has_inner && !stage.inner)) return false;
      if (!stores_whole_lines(kernel, access, line)) return false;
    }
  }
  // Where consecutive stores are not contiguous, each has to fill whole cache lines.
  const bool across =
      tiles.axis >= 0 || kernel.vector_axis != static_cast<int>(kernel.axes.size()) - 1;
  const std::int64_t width = lanes * static_cast<std::int64_t>(dtype_bytes(written.dtype));
  return stores == 1 && (!across || width % line == 0);
}

}  // namespace

StreamSchedule choose_streams(const ScheduleInput& in, int lanes, const TileSchedule& tiles) {
  if (lanes == 1) return {};
  const Kernel& kernel = in.kernel;
  const CpuTuning& tuning = in.cpu.tuning;
  IdVector<OperandId, bool> found, loads;
  for (const OperandId i : kernel.operands.ids()) {
    found.push_back(can_be_streamed(in, i, lanes, tiles));
    loads.push_back(kernel.operands[i].read);
  }
  // Whether calls on parts of the domain, by several threads, stream, too.
  const auto streams_in_parts = [&](std::int64_t stored) {
    const std::int64_t loaded = spanned_bytes(kernel, loads);
    return loaded >= stored && loaded + stored >= tuning.shared_stream_bytes;
  };
  if (const OperandId row = scratch_candidate(in, lanes, tiles)) {
    loads[row] = false;
    IdVector<OperandId, bool> only(found.size());
    only[row] = true;
    const std::int64_t stored = spanned_bytes(kernel, only);
    if (stored >= tuning.stream_bytes && streams_in_parts(stored)) {
      return {.operands = std::move(only), .scratch_operand = row};
    }
    loads[row] = true;
  }
  const bool is_tiled = tiles.axis >= 0;
  const std::int64_t stored = spanned_bytes(kernel, found);
  if (stored < (is_tiled ? tuning.stream_tiled_bytes : tuning.stream_bytes)) return {};
  return {.operands = std::move(found), .alone = !is_tiled && !streams_in_parts(stored)};
}

}  // namespace kiln::cpu
