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
    std::vector<std::vector<int>> read(kernel_.operands.size()), written = read;
    for (const Stage& stage : kernel_.stages) {
      for (const int load : loads_of(stage, std::vector<bool>())) {
        note(read, kernel_.expressions[at(load)].number);
      }
      for (const Store& store : stage.stores) {
        note(written, store.access);
        if (store.accumulate) note(read, store.access);
      }
    }
    Traffic all;
    for (std::size_t i = 0; i < kernel_.operands.size(); ++i) {
      all.read += bytes_of(read[i]);
      all.written += bytes_of(written[i]);
    }
    return all;
  }

  Traffic under(const GridSchedule& schedule) const {
    std::vector<bool> is_known(kernel_.expressions.size(), false);
    std::vector<int> cached;  // accesses that are the same at all inner points
    Traffic all;
    for (const StageGroup& group : stage_groups(kernel_, schedule.barrier_before)) {
      std::vector<int> accesses;
      std::vector<bool> kept = is_known;
      for (int s = group.first; s < group.last; ++s) {
        const Stage& stage = kernel_.stages[at(s)];
        for (const int load : loads_of(stage, is_known)) {
          const int access = kernel_.expressions[at(load)].number;
          if (has_same(accesses, access) || has_same(cached, access)) continue;
          (inner_[at(load)] ? accesses : cached).push_back(access);
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
  void note_kept(const Stage& stage, const GridSchedule& schedule,
                 const std::vector<bool>& is_known, std::vector<bool>& kept) const {
    const std::vector<bool> wanted = needed(kernel_, roots_of(kernel_, stage), is_known);
    for (const int one : schedule.kept) {
      kept[at(one)] = kept[at(one)] || (stage.inner && wanted[at(one)]);
    }
  }

  /// Bytes of the index list that units of Owners read, without those of the first unit.
  std::int64_t list_reads(const GridSchedule& schedule) const {
    const Access& access = kernel_.accesses[at(kernel_.stages[0].stores[0].access)];
    const GridLaunch launch = launch_of(kernel_, schedule, device_, evaluate_);
    if (launch.blocks == 0) return 0;
    const OwnerUnits units = owner_units(lanes_of(schedule), launch.points, launch.blocks,
                                         evaluate_(access.dynamic_limit));
    std::int64_t bytes = 0;
    for (const int load : loads_of(std::vector<int>{access.dynamic, access.when}, {})) {
      bytes += moved(kernel_.expressions[at(load)].number, schedule);
    }
    return bytes <= kCachedListBytes ? 0 : (units.count() - 1) * bytes;
  }

  std::vector<int> loads_of(const Stage& stage, const std::vector<bool>& is_known) const {
    return loads_of(roots_of(kernel_, stage), is_known);
  }

  std::vector<int> loads_of(const std::vector<int>& roots, std::vector<bool> is_known) const {
    is_known.resize(kernel_.expressions.size(), false);
    const std::vector<bool> wanted = needed(kernel_, roots, is_known);
    std::vector<int> loads;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const bool is_load = kernel_.expressions[i].kind == ExpressionKind::Load;
      if (wanted[i] && !is_known[i] && is_load) loads.push_back(static_cast<int>(i));
    }
    return loads;
  }

  bool is_same(int first, int second) const {
    const Access &a = kernel_.accesses[at(first)], &b = kernel_.accesses[at(second)];
    return a.operand == b.operand && a.offset == b.offset && a.strides == b.strides &&
           a.dynamic == b.dynamic;
  }
  bool has_same(const std::vector<int>& accesses, int one) const {
    return std::any_of(accesses.begin(), accesses.end(),
                       [&](int access) { return is_same(access, one); });
  }
  void note(std::vector<std::vector<int>>& lists, int access) const {
    std::vector<int>& list = lists[at(kernel_.accesses[at(access)].operand)];
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
      if (stride != 0 || access.dynamic >= 0) range.count *= extent;
    }
    if (access.dynamic >= 0) {
      extend(evaluate_(access.dynamic_stride), evaluate_(access.dynamic_limit));
    }
    range.count = std::min(range.count, range.end - range.begin);
    return range;
  }

  std::int64_t width_of(const Access& access) const {
    return static_cast<std::int64_t>(dtype_bytes(kernel_.operands[at(access.operand)].dtype));
  }

  std::int64_t bytes_of(const std::vector<int>& accesses) const {
    if (accesses.empty()) return 0;
    Elements all;
    bool is_contiguous = false;
    for (const int access : accesses) {
      all.add(elements_of(kernel_.accesses[at(access)]));
      is_contiguous = is_contiguous || has_unit_stride(kernel_.accesses[at(access)]);
    }
    const std::int64_t width = width_of(kernel_.accesses[at(accesses[0])]);
    if (is_contiguous) return all.count * width;
    return std::min((all.end - all.begin) * width, all.count * std::max(width, kSectorBytes));
  }

  bool has_unit_stride(const Access& access) const {
    for (std::size_t axis = 0; axis < kernel_.axes.size(); ++axis) {
      const bool is_unit = std::abs(evaluate_(access.strides[axis])) == 1;
      if (is_unit && evaluate_(kernel_.axes[axis]) > 1) return true;
    }
    return access.dynamic >= 0 && std::abs(evaluate_(access.dynamic_stride)) == 1;
  }

  /// The axis along which consecutive threads have consecutive indices; -1: none.
  int thread_axis(const GridSchedule& schedule) const {
    const bool has_rows = schedule.form == GridForm::Rows && lanes_of(schedule) > 1;
    if (has_rows) return static_cast<int>(kernel_.axes.size()) - 1;
    return schedule.axes.empty() ? -1 : schedule.axes.back();
  }

  /// Whether the access is coalesced because it is staged in a tile of shared memory.
  bool is_tiled(int access, const GridSchedule& schedule) const {
    if (schedule.form != GridForm::Tile) return false;
    const std::vector<int> list = tile_accesses(kernel_, schedule.tile_axis);
    return std::find(list.begin(), list.end(), access) != list.end();
  }

  std::int64_t moved(int number, const GridSchedule& schedule) const {
    const Access& access = kernel_.accesses[at(number)];
    const std::int64_t width = width_of(access), count = elements_of(access).count;
    if (is_tiled(number, schedule)) return count * width;
    const int axis = thread_axis(schedule);
    const std::int64_t stride = axis < 0 ? 1 : std::abs(evaluate_(access.strides[at(axis)]));
    if (stride <= 1) return count * width;
    return count * std::min(stride * width, std::max(width, kSectorBytes));
  }

  const Kernel& kernel_;
  const std::function<std::int64_t(const ir::Dim&)>& evaluate_;
  const GridDescription& device_;
  const std::vector<bool> inner_;
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
