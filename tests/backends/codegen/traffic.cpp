// An access counts the elements between its first and its last one, or
// its points where these are fewer.
#include "tests/backends/codegen/traffic.h"

#include "backends/codegen/grid/owners.h"
#include "backends/codegen/grid/stage_groups.h"
#include "backends/codegen/grid/tile.h"
#include "backends/codegen/kernel/needed.h"
#include "core/types/at.h"

#include <algorithm>
#include <cstdlib>

namespace kiln::codegen {
namespace {

constexpr std::int64_t kSectorBytes = 32;
/// Index lists of up to this size stay in the L2 cache, which has 40 MiB or more.
constexpr std::int64_t kCachedListBytes = 1 << 20;

/// Elements of one operand: the range [begin, end) and an upper bound on their number.
struct Elements {
  std::int64_t begin = 0, end = 0, count = 0;

  void add(const Elements& other) {
    const bool is_first = count == 0;
    begin = is_first ? other.begin : std::min(begin, other.begin);
    end = is_first ? other.end : std::max(end, other.end);
    count = std::min(count + other.count, end - begin);
  }
};

class Model {
 public:
  Model(const Kernel& kernel, const std::function<std::int64_t(const ir::Dim&)>& evaluate,
        const GridDescription& device)
      : kernel_(kernel), evaluate_(evaluate), device_(device), inner_(depends_on_inner(kernel)) {}

  Traffic compulsory() const {
    Lists read(kernel_.operands.size()), written = read;
    for (const Stage& stage : kernel_.stages) {
      for (const ExpressionId load : loads_of(stage, ExpressionFlags())) {
        note(read, kernel_.expressions[load].access);
      }
      for (const Store& store : stage.stores) {
        note(written, store.access);
        if (store.accumulate) note(read, store.access);
      }
    }
    Traffic all;
    for (const OperandId i : kernel_.operands.ids()) {
      all.read += bytes_of(read[i]);
      all.written += bytes_of(written[i]);
    }
    return all;
  }

  Traffic under(const GridSchedule& schedule) const {
    ExpressionFlags is_known(kernel_.expressions.size(), false);
    std::vector<AccessId> cached;  // accesses that are the same at all inner points
    Traffic all;
    for (const StageGroup& group : stage_groups(kernel_, schedule.barrier_before)) {
      std::vector<AccessId> accesses;
      ExpressionFlags kept = is_known;
      for (const StageId s : group) {
        const Stage& stage = kernel_.stages[s];
        for (const ExpressionId load : loads_of(stage, is_known)) {
          const AccessId access = kernel_.expressions[load].access;
          if (has_same(accesses, access) || has_same(cached, access)) continue;
          (inner_[load] ? accesses : cached).push_back(access);
          all.read += moved(access, schedule);
        }
        for (const Store& store : stage.stores) {
          all.written += moved(store.access, schedule);
          if (store.accumulate) all.read += moved(store.access, schedule);
        }
        note_kept(stage, schedule, is_known, kept);
      }
      is_known = kept;
    }
    if (schedule.form == GridForm::Owners) all.read += list_reads(schedule);
    return all;
  }

 private:
  using Lists = IdVector<OperandId, std::vector<AccessId>>;

  void note_kept(const Stage& stage, const GridSchedule& schedule, const ExpressionFlags& is_known,
                 ExpressionFlags& kept) const {
    const ExpressionFlags wanted = needed(kernel_, roots_of(kernel_, stage), is_known);
    for (const ExpressionId one : schedule.kept) {
      kept[one] = kept[one] || (stage.inner && wanted[one]);
    }
  }

  /// Bytes of the index list that units of Owners read, without those of the first unit.
  std::int64_t list_reads(const GridSchedule& schedule) const {
    const Access& access = kernel_.accesses[kernel_.stages.front().stores[0].access];
    const GridLaunch launch = launch_of(kernel_, schedule, device_, evaluate_);
    if (launch.blocks == 0) return 0;
    const OwnerUnits units = owner_units(lanes_of(schedule), launch.points, launch.blocks,
                                         evaluate_(access.dynamic_limit));
    std::int64_t bytes = 0;
    for (const ExpressionId load : loads_of(std::vector{access.dynamic, access.when}, {})) {
      bytes += moved(kernel_.expressions[load].access, schedule);
    }
    return bytes <= kCachedListBytes ? 0 : (units.count() - 1) * bytes;
  }

  std::vector<ExpressionId> loads_of(const Stage& stage, const ExpressionFlags& is_known) const {
    return loads_of(roots_of(kernel_, stage), is_known);
  }

  std::vector<ExpressionId> loads_of(const std::vector<ExpressionId>& roots,
                                     ExpressionFlags is_known) const {
    is_known.resize(kernel_.expressions.size(), false);
    const ExpressionFlags wanted = needed(kernel_, roots, is_known);
    std::vector<ExpressionId> loads;
    for (const ExpressionId i : wanted.ids()) {
      const bool is_load = kernel_.expressions[i].kind == ExpressionKind::Load;
      if (wanted[i] && !is_known[i] && is_load) loads.push_back(i);
    }
    return loads;
  }

  bool is_same(AccessId first, AccessId second) const {
    const Access &a = kernel_.accesses[first], &b = kernel_.accesses[second];
    return a.operand == b.operand && a.offset == b.offset && a.strides == b.strides &&
           a.dynamic == b.dynamic;
  }
  bool has_same(const std::vector<AccessId>& accesses, AccessId one) const {
    return std::any_of(accesses.begin(), accesses.end(),
                       [&](AccessId access) { return is_same(access, one); });
  }
  void note(Lists& lists, AccessId access) const {
    std::vector<AccessId>& list = lists[kernel_.accesses[access].operand];
    if (!has_same(list, access)) list.push_back(access);
  }

  Elements elements_of(const Access& access) const {
    Elements range;
    range.begin = evaluate_(access.offset);
    range.end = range.begin + 1;
    range.count = 1;
    const auto extend = [&](std::int64_t stride, std::int64_t extent) {
      (stride < 0 ? range.begin : range.end) += stride * std::max<std::int64_t>(extent - 1, 0);
    };
    for (std::size_t axis = 0; axis < kernel_.axes.size(); ++axis) {
      const std::int64_t stride = evaluate_(access.strides[axis]);
      const std::int64_t extent = evaluate_(kernel_.axes[axis]);
      extend(stride, extent);
      if (stride != 0 || access.dynamic) range.count *= extent;
    }
    if (access.dynamic) {
      extend(evaluate_(access.dynamic_stride), evaluate_(access.dynamic_limit));
    }
    range.count = std::min(range.count, range.end - range.begin);
    return range;
  }

  std::int64_t width_of(const Access& access) const {
    return static_cast<std::int64_t>(dtype_bytes(kernel_.operands[access.operand].dtype));
  }

  std::int64_t bytes_of(const std::vector<AccessId>& accesses) const {
    if (accesses.empty()) return 0;
    Elements all;
    bool is_contiguous = false;
    for (const AccessId access : accesses) {
      all.add(elements_of(kernel_.accesses[access]));
      is_contiguous = is_contiguous || has_unit_stride(kernel_.accesses[access]);
    }
    const std::int64_t width = width_of(kernel_.accesses[accesses[0]]);
    if (is_contiguous) return all.count * width;
    return std::min((all.end - all.begin) * width, all.count * std::max(width, kSectorBytes));
  }

  bool has_unit_stride(const Access& access) const {
    for (std::size_t axis = 0; axis < kernel_.axes.size(); ++axis) {
      const bool is_unit = std::abs(evaluate_(access.strides[axis])) == 1;
      if (is_unit && evaluate_(kernel_.axes[axis]) > 1) return true;
    }
    return access.dynamic && std::abs(evaluate_(access.dynamic_stride)) == 1;
  }

  /// The axis along which consecutive threads have consecutive indices; -1: none.
  int thread_axis(const GridSchedule& schedule) const {
    const bool has_rows = schedule.form == GridForm::Rows && lanes_of(schedule) > 1;
    if (has_rows) return static_cast<int>(kernel_.axes.size()) - 1;
    return schedule.axes.empty() ? -1 : schedule.axes.back();
  }

  /// Whether the access is coalesced because it is staged in a tile of shared memory.
  bool is_tiled(AccessId access, const GridSchedule& schedule) const {
    if (schedule.form != GridForm::Tile) return false;
    const std::vector<AccessId> list = tile_accesses(kernel_, schedule.tile_axis);
    return std::find(list.begin(), list.end(), access) != list.end();
  }

  std::int64_t moved(AccessId id, const GridSchedule& schedule) const {
    const Access& access = kernel_.accesses[id];
    const std::int64_t width = width_of(access), count = elements_of(access).count;
    if (is_tiled(id, schedule)) return count * width;
    const int axis = thread_axis(schedule);
    const std::int64_t stride = axis < 0 ? 1 : std::abs(evaluate_(access.strides[at(axis)]));
    if (stride <= 1) return count * width;
    return count * std::min(stride * width, std::max(width, kSectorBytes));
  }

  const Kernel& kernel_;
  const std::function<std::int64_t(const ir::Dim&)>& evaluate_;
  const GridDescription& device_;
  const ExpressionFlags inner_;
};

}  // namespace

Traffic compulsory_traffic(const Kernel& kernel,
                           const std::function<std::int64_t(const ir::Dim&)>& evaluate) {
  return Model(kernel, evaluate, GridDescription()).compulsory();
}

Traffic traffic_of(const Kernel& kernel, const GridSchedule& schedule,
                   const std::function<std::int64_t(const ir::Dim&)>& evaluate,
                   const GridDescription& device) {
  Traffic all = Model(kernel, evaluate, device).under(schedule);
  const std::int64_t partial = launch_of(kernel, schedule, device, evaluate).partial_bytes;
  all.read += partial;
  all.written += partial;
  return all;
}

}  // namespace kiln::codegen
