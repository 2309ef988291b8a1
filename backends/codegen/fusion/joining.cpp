// The rules of fusion. Their limits keep kernels small enough to compile quickly, and reductions
// over few outer points apart from the work that feeds them, which would lose its parallelism.
#include "backends/codegen/fusion/joining.h"

#include <algorithm>
#include <numeric>

namespace kiln::codegen {
namespace {

constexpr std::size_t kMaxMembers = 192;

ir::Dims outer_dims(const Unit& unit) {
  ir::Dims dims;
  for (int axis : unit.axes(/*of_reduced=*/false)) {
    dims.push_back(unit.domain[static_cast<std::size_t>(axis)]);
  }
  return dims;
}

/// Whether a reduction may make outer and inner axes of a unit that had none.
bool is_worth_splitting(const Unit& unit, const Points& points, const TargetDescription& target) {
  std::int64_t outer = 1, all = 1;
  bool known = true;
  for (std::size_t i = 0; i < points.domain.size(); ++i) {
    const ir::Dim& dim = points.domain[i];
    if (!dim.is_static()) {
      known = false;
      if (!points.reduced[i]) return true;
      continue;
    }
    if (!points.reduced[i]) outer *= dim.value();
    all *= dim.value();
  }
  return unit.members.empty() || outer >= target.fewest_outer_points() ||
         (known && all <= target.small_domain());
}

/// Whether a value that the unit makes is read where it is made.
bool is_read_in_place(const Fusion& fusion, int index, const Points& points, Role role,
                      const Read& read, const View& view) {
  if (read.memory) return false;
  const Unit& unit = fusion.unit(index);
  const Member* member = fusion.member_of(*view.source.node);
  if (member == nullptr || member->role == Role::Running) return false;
  std::vector<int> axes(points.domain.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (member->role == Role::Full) return role != Role::Outer && is_identity(view.map, axes);
  if (role == Role::Outer) return is_identity(view.map, axes);
  return is_identity(view.map, unit.axes(/*of_reduced=*/false));
}

}  // namespace

bool is_readable(const Fusion& fusion, int index, const Points& points, Role role,
                 const Read& read, const View& view) {
  const int maker = fusion.unit_of(view.source);
  if (maker < 0) return true;
  if (maker != index) return !fusion.may_be_before(index, maker);
  return is_read_in_place(fusion, index, points, role, read, view);
}

std::optional<Role> role_in(const Fusion& fusion, int index, const Points& points,
                            const std::vector<View>& views) {
  const Unit& unit = fusion.unit(index);
  const bool is_open = unit.kind == UnitKind::Kernel && !unit.closed;
  if (!is_open || unit.members.size() >= kMaxMembers) return std::nullopt;
  Role role = points.role;
  if (role == Role::Running) return std::nullopt;
  if (role == Role::Full && points.domain != unit.domain) {
    if (!unit.split || points.domain != outer_dims(unit)) return std::nullopt;
    role = Role::Outer;
  }
  if (role == Role::Reduce) {
    if (points.domain != unit.domain) return std::nullopt;
    const bool fits = unit.split ? unit.reduced == points.reduced
                                 : is_worth_splitting(unit, points, fusion.target);
    if (!fits) return std::nullopt;
  }
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (!is_readable(fusion, index, points, role, points.reads[i], views[i])) return std::nullopt;
  }
  return role;
}

bool can_merge(const Fusion& fusion, int into, int from, const Points& points, Role role,
               const std::vector<View>& views) {
  if (from < 0 || from == into) return false;
  if (fusion.may_be_before(into, from) || fusion.may_be_before(from, into)) return false;
  const Unit &a = fusion.unit(into), &b = fusion.unit(from);
  if (points.role == Role::Running) return false;
  if (points.role == Role::Reduce && b.split && b.reduced != points.reduced) return false;
  for (std::size_t i = 0; i < views.size(); ++i) {
    const int maker = fusion.unit_of(views[i].source);
    const bool in_place =
        maker != from || is_read_in_place(fusion, from, points, role, points.reads[i], views[i]);
    if (!in_place) return false;
    // A maker behind `from` would be on both sides of the two as one.
    if (maker >= 0 && fusion.may_be_before(from, maker)) return false;
  }
  return b.kind == UnitKind::Kernel && !a.closed && !b.closed && a.domain == b.domain &&
         (!a.split || !b.split || a.reduced == b.reduced) &&
         a.members.size() + b.members.size() < kMaxMembers;
}

int level_of(const Fusion& fusion, int index, const std::vector<View>& views) {
  int level = 0;
  for (const View& view : views) {
    if (fusion.unit_of(view.source) != index) continue;
    const Member* member = fusion.member_of(*view.source.node);
    level = std::max(level, member->level + (member->role == Role::Reduce ? 1 : 0));
  }
  return level;
}

}  // namespace kiln::codegen
