// The rules of fusion. Their limits keep kernels small enough to compile quickly, and reductions
// over few outer points apart from the work that feeds them, which would lose its parallelism.
#include "backends/codegen/fusion/joining.h"

#include "backends/codegen/fusion/reduction_parts.h"
#include "core/ops/op.h"

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

bool is_arg_max(const Member& member) {
  return member.role == Role::Reduce && def(*member.node).combiner == ir::Combiner::ArgMax;
}

/// Blocks of one launch can exchange the index of a maximum; kernels of partial sums cannot.
bool can_run_in_parts(const Fusion& fusion, bool is_arg_max) {
  return !is_arg_max || fusion.target.divides_reductions;
}

bool runs_in_parts(const Fusion& fusion, const Unit& unit) {
  const bool has_arg_max = std::any_of(unit.members.begin(), unit.members.end(), is_arg_max);
  return unit.split && can_run_in_parts(fusion, has_arg_max) &&
         runs_in_parts(unit.domain, unit.reduced, fusion.target, fusion.is_body);
}

/// Whether the points that are not reduced are many, or all are little work.
bool has_enough_points(const Fusion& fusion, const ir::Dims& domain,
                       const std::vector<bool>& reduced) {
  std::int64_t outer = 1, all = 1;
  bool known = true;
  for (std::size_t i = 0; i < domain.size(); ++i) {
    const ir::Dim& dim = domain[i];
    if (!dim.is_static()) {
      known = false;
      if (!reduced[i]) return true;
      continue;
    }
    if (!reduced[i]) outer *= dim.value();
    all *= dim.value();
  }
  return outer >= fusion.target.fewest_outer_points() ||
         (known && all <= fusion.target.small_domain());
}

/// Whether a reduction may make outer and inner axes of a unit that had none.
bool may_reduce(const Fusion& fusion, const Unit& unit, const Points& points) {
  return unit.members.empty() || has_enough_points(fusion, points.domain, points.reduced) ||
         runs_in_parts(fusion, points);
}

/// Whether two units over one domain, as one, keep all threads busy if each did.
bool keeps_threads_busy(const Fusion& fusion, const Unit& a, const Unit& b) {
  if (a.split && b.split) return runs_in_parts(fusion, a) == runs_in_parts(fusion, b);
  if (!a.split && !b.split) return true;
  const Unit& reducing = a.split ? a : b;
  return has_enough_points(fusion, reducing.domain, reducing.reduced) ||
         runs_in_parts(fusion, reducing);
}

/// Whether the member needs the result of a reduction at every point.
bool follows_reduction(const Member& member) {
  return member.level > 0 && member.role != Role::Outer;
}

/// Whether a reduction of the two units as one would run in parts, and something at every point
/// needs its result, which is there only after all parts.
bool needs_total(const Fusion& fusion, int into, int from, const Points& points, Role role,
                 const std::vector<View>& views) {
  const Unit &a = fusion.unit(into), &b = fusion.unit(from);
  const bool reduces = points.role == Role::Reduce;
  const std::vector<bool>& reduced = a.split ? a.reduced : b.split ? b.reduced : points.reduced;
  if (!(a.split || b.split || reduces)) return false;
  if (!runs_in_parts(a.domain, reduced, fusion.target, fusion.is_body)) return false;
  const bool follows = role != Role::Outer && (level_of(fusion, into, views) > 0 ||
                                               level_of(fusion, from, views) > 0);
  return follows || std::any_of(a.members.begin(), a.members.end(), follows_reduction) ||
         std::any_of(b.members.begin(), b.members.end(), follows_reduction);
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

bool runs_in_parts(const Fusion& fusion, const Points& points) {
  return can_run_in_parts(fusion, points.is_arg_max) &&
         runs_in_parts(points.domain, points.reduced, fusion.target, fusion.is_body);
}

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
    const bool fits = unit.split ? unit.reduced == points.reduced &&
                                       runs_in_parts(fusion, unit) == runs_in_parts(fusion, points)
                                 : may_reduce(fusion, unit, points);
    if (!fits) return std::nullopt;
  }
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (!is_readable(fusion, index, points, role, points.reads[i], views[i])) return std::nullopt;
  }
  const bool follows = role != Role::Outer && level_of(fusion, index, views) > 0;
  if (follows && runs_in_parts(fusion, unit)) return std::nullopt;
  return role;
}

bool can_sum_columns(const Fusion& fusion, int index, const Points& points) {
  const Unit& unit = fusion.unit(index);
  if (unit.kind != UnitKind::Kernel || unit.closed || !unit.split) return false;
  if (unit.domain != points.domain || runs_in_parts(fusion, unit)) return false;
  for (std::size_t i = 0; i < unit.domain.size(); ++i) {
    if (unit.reduced[i] == points.reduced[i]) return false;
  }
  const ir::Dims rows = outer_dims(unit);
  return !rows.empty() && rows_per_block(rows[0], fusion.target).has_value();
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
    // A producer ordered after `from` would have to run both before and after the merged unit.
    if (maker >= 0 && fusion.may_be_before(from, maker)) return false;
  }
  return b.kind == UnitKind::Kernel && !a.closed && !b.closed && a.domain == b.domain &&
         (!a.split || !b.split || a.reduced == b.reduced) &&
         a.members.size() + b.members.size() < kMaxMembers &&
         keeps_threads_busy(fusion, a, b) &&
         !needs_total(fusion, into, from, points, role, views);
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
