// One loop per group of stages, and barriers between groups that share memory.
#include "backends/codegen/text/team_text.h"

#include "backends/codegen/kernel/needed.h"
#include "backends/codegen/text/running_text.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {

const char* team_functions() {
  return R"(
namespace {
// The value of the lane whose number differs in the bits of `distance`. Warps are whole.
template <class T> T exchanged(T x, int distance) {
  if constexpr (sizeof(T) == 8) {
    return from_bits<T>(__shfl_xor_sync(~0u, from_bits<u64>(x), distance));
  } else if constexpr (sizeof(T) == 4) {
    return from_bits<T>(__shfl_xor_sync(~0u, from_bits<u32>(x), distance));
  } else {
    return wrap<T>(__shfl_xor_sync(~0u, u32(bits(x)), distance));
  }
}
// The largest value and its index; below 0: none yet.
template <class T> struct Best {
  T value;
  s64 index;
};
template <class T> Best<T> exchanged(Best<T> x, int distance) {
  return {exchanged(x.value, distance), exchanged(x.index, distance)};
}
template <class T> Best<T> best_of(Best<T> x, Best<T> y) {
  if (x.index < 0 || y.index < 0) return x.index < 0 ? y : x;
  if (above(x.value, y.value)) return x;
  return above(y.value, x.value) || y.index < x.index ? y : x;
}
}  // namespace
)";
}

TeamText::TeamText(const Kernel& kernel, const GridSchedule& schedule, TextLines& lines)
    : kernel_(kernel),
      schedule_(schedule),
      lines_(lines),
      point_(kernel, lines),
      reductions_(kernel, schedule, lines),
      split_(kernel, schedule, lines),
      loop_(kernel, schedule, reductions_, lines) {}

void TeamText::write() {
  loop_.declare_kept();
  if (schedule_.split_k) {
    // Stages without inner axes follow all others (split_rows.h).
    write_groups(/*inner=*/true);
    split_.exchange(reductions_);
    for (const StageId s : kernel_.stages.ids()) {
      if (reductions_.is_reduction(s)) reductions_.declare_result(s);
    }
    write_groups(/*inner=*/false);
  } else {
    for (const StageGroup& group : stage_groups(kernel_, schedule_.barrier_before)) write(group);
  }
  // Orders uses of shared memory, and additions of consecutive outer points to the same elements.
  const bool is_in_order = static_cast<int>(schedule_.axes.size()) < kernel_.outer;
  if (is_in_order || shared_bytes(kernel_, schedule_) > 0) barrier();
}

void TeamText::write_groups(bool inner) {
  for (const StageGroup& group : stage_groups(kernel_, schedule_.barrier_before)) {
    if (kernel_.stages[group.first].inner == inner) write(group);
  }
}

void TeamText::barrier() {
  const bool is_warp = schedule_.form == GridForm::Rows && lanes_of(schedule_) <= kWarpLanes;
  lines_.line(is_warp ? "__syncwarp();" : "__syncthreads();");
}

void TeamText::write(const StageGroup& group) {
  const std::vector<StageId>& before = schedule_.barrier_before;
  if (std::find(before.begin(), before.end(), group.first) != before.end()) barrier();
  const Stage& first = kernel_.stages[group.first];
  if (!first.inner) return write_once(group.first, first);
  if (first.kind == StageKind::Running) return write_running(group.first);
  for (const StageId s : group) {
    if (reductions_.is_reduction(s)) reductions_.declare_accumulators(s);
  }
  loop_.write(group);
  for (const StageId s : group) {
    if (!reductions_.is_reduction(s)) continue;
    reductions_.combine_accumulators(s);
    reductions_.combine_lanes(s);
    if (!schedule_.split_k) reductions_.declare_result(s);
  }
}

void TeamText::write_once(StageId id, const Stage& stage) {
  lines_.open("if (live && lane == 0)");
  point_.begin();
  loop_.declare_out_of_range(id, "0");
  point_.evaluate(roots_of(kernel_, stage));
  for (const Store& store : stage.stores) point_.write_store(store);
  lines_.close();
}

void TeamText::write_running(StageId id) {
  codegen::write_running(kernel_, schedule_, id, point_, lines_, [&] { loop_.begin_point(id); });
}

}  // namespace kiln::codegen
