// Limits about profit, not legality: kMaxMembers and kMaxRepeatedMembers keep kernels small enough
// to compile quickly, and a reduction with few outer points stays apart from its elementwise
// producers, which would lose their parallelism.
#include "backends/codegen/fusion/fusion_rules.h"

#include "backends/codegen/fusion/reduction_parts.h"
#include "core/ops/op.h"

#include <algorithm>
#include <numeric>

namespace kiln::codegen {
namespace {

constexpr std::size_t kMaxMembers = 192;

/// Of a kernel that a node joins for a scalar alone. The rest is left to the node's consumers: an
/// optimiser's update of a weight, the usual chain that begins with such a node, has at most 30
/// members.
constexpr std::size_t kMaxMembersToShareScalar = 144;

/// Of the members times the stages. Each stage repeats the members before it that are not kept in
/// registers, so that a kernel's code and the time of its compiler grow with the product. Measured
/// with NVRTC 13.0 for sm_90, `y = y - sum(y, 1)` repeated over [4][8], 2 members and 1 stage each:
///
///   repeated   5   10   20   40  100
///   ms each    6    5    5    9   32
constexpr std::size_t kMaxRepeatedMembers = 1024;

bool is_small(std::size_t members, int stages) {
  return members <= kMaxMembers &&
         members * static_cast<std::size_t>(stages) <= kMaxRepeatedMembers;
}

ir::Dims outer_dims(const KernelGroup& group) {
  ir::Dims dims;
  for (int axis : group.axes(/*of_reduced=*/false)) {
    dims.push_back(group.domain[static_cast<std::size_t>(axis)]);
  }
  return dims;
}

bool is_arg_max(const Member& member) {
  return member.role == Role::Reduce && def(*member.node).combiner == ir::Combiner::ArgMax;
}

/// Blocks of one launch can exchange the index of a maximum; kernels of partial sums cannot.
bool can_run_in_parts(const FusionBuilder& builder, bool is_arg_max) {
  return !is_arg_max || builder.target.divides_reductions;
}

bool runs_in_parts(const FusionBuilder& builder, const KernelGroup& group) {
  const bool has_arg_max = std::any_of(group.members.begin(), group.members.end(), is_arg_max);
  return group.has_reduced_axes && can_run_in_parts(builder, has_arg_max) &&
         runs_in_parts(group.domain, group.reduced, builder.target, builder.is_body);
}

/// Whether there are enough outer points for the target, or so few points that it does not matter.
bool has_enough_points(const FusionBuilder& builder, const ir::Dims& domain,
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
    // Bounded: beside an extent of 0, the product of the others may have any size.
    constexpr std::int64_t kMany = std::int64_t{1} << 31;
    const std::int64_t extent = std::min(dim.value(), kMany);
    if (!reduced[i]) outer = std::min(outer * extent, kMany);
    all = std::min(all * extent, kMany);
  }
  return outer >= builder.target.min_outer_points() ||
         (known && all <= builder.target.small_domain());
}

/// Whether a kernel without reductions may take one: its domain is then divided into outer and
/// inner axes, and only outer points run in parallel.
bool may_reduce(const FusionBuilder& builder, const KernelGroup& group,
                const IterationSpace& space) {
  return group.members.empty() || has_enough_points(builder, space.domain, space.reduced) ||
         runs_in_parts(builder, space);
}

/// Whether merging two kernels over one domain loses no parallelism.
bool keeps_parallelism(const FusionBuilder& builder, const KernelGroup& a, const KernelGroup& b) {
  if (a.has_reduced_axes && b.has_reduced_axes) {
    return runs_in_parts(builder, a) == runs_in_parts(builder, b);
  }
  if (!a.has_reduced_axes && !b.has_reduced_axes) return true;
  const KernelGroup& reducing = a.has_reduced_axes ? a : b;
  return has_enough_points(builder, reducing.domain, reducing.reduced) ||
         runs_in_parts(builder, reducing);
}

/// Whether the merged kernel and a node that reads both are small enough.
bool fits_merged(const FusionBuilder& builder, int into, int from, Role role,
                 const std::vector<View>& views) {
  const KernelGroup &a = builder.kernel(into), &b = builder.kernel(from);
  const int level = std::max(level_of(builder, into, views), level_of(builder, from, views));
  const int stages = std::max({a.stages, b.stages, stages_after(role, level)});
  return is_small(a.members.size() + b.members.size() + 1, stages);
}

/// Whether the member reads the result of a reduction of its kernel at every point.
bool follows_reduction(const Member& member) {
  return member.level > 0 && member.role != Role::Outer;
}

/// Whether the merged kernel would have a reduction that runs in parts and a member that reads its
/// total at every point: the total exists only after all parts have run.
bool needs_total(const FusionBuilder& builder, int into, int from, const IterationSpace& space,
                 Role role, const std::vector<View>& views) {
  const KernelGroup &a = builder.kernel(into), &b = builder.kernel(from);
  const bool reduces = space.role == Role::Reduce;
  const std::vector<bool>& reduced = a.has_reduced_axes   ? a.reduced
                                     : b.has_reduced_axes ? b.reduced
                                                          : space.reduced;
  if (!(a.has_reduced_axes || b.has_reduced_axes || reduces)) return false;
  if (!runs_in_parts(a.domain, reduced, builder.target, builder.is_body)) return false;
  const bool follows = role != Role::Outer &&
                       (level_of(builder, into, views) > 0 || level_of(builder, from, views) > 0);
  return follows || std::any_of(a.members.begin(), a.members.end(), follows_reduction) ||
         std::any_of(b.members.begin(), b.members.end(), follows_reduction);
}

/// Whether the node reads a value of the kernel at the point that computes it, from a register. A
/// running value is always read from memory, and so is a shared total by nodes over all points.
bool is_read_in_register(const FusionBuilder& builder, int index, const IterationSpace& space,
                         Role role, const OperandRead& read, const View& view) {
  if (read.memory) return false;
  const KernelGroup& group = builder.kernel(index);
  const Member* member = builder.member_of(*view.source.node);
  if (member == nullptr || member->role == Role::Running) return false;
  if (role != Role::Outer && builder.shared_totals.contains(member->node)) return false;
  std::vector<int> axes(space.domain.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (member->role == Role::Full) return role != Role::Outer && is_identity(view.map, axes);
  if (role == Role::Outer) return is_identity(view.map, axes);
  return is_identity(view.map, group.axes(/*of_reduced=*/false));
}

}  // namespace

bool runs_in_parts(const FusionBuilder& builder, const IterationSpace& space) {
  return can_run_in_parts(builder, space.is_arg_max) &&
         runs_in_parts(space.domain, space.reduced, builder.target, builder.is_body);
}

bool is_readable(const FusionBuilder& builder, int index, const IterationSpace& space, Role role,
                 const OperandRead& read, const View& view) {
  const int producer = builder.group_of(view.source);
  if (producer < 0) return true;
  if (producer != index) return !builder.may_precede(index, producer);
  return is_read_in_register(builder, index, space, role, read, view);
}

std::optional<Role> role_in(const FusionBuilder& builder, int index, const IterationSpace& space,
                            const std::vector<View>& views) {
  const KernelGroup* const found = builder.kernel_if(index);
  if (!found || found->is_closed || found->members.size() >= kMaxMembers) return std::nullopt;
  const KernelGroup& group = *found;
  Role role = space.role;
  if (role == Role::Running) return std::nullopt;
  if (role == Role::Full && space.domain != group.domain) {
    if (!group.has_reduced_axes || space.domain != outer_dims(group)) return std::nullopt;
    role = Role::Outer;
  }
  if (role == Role::Reduce) {
    if (space.domain != group.domain) return std::nullopt;
    const bool fits = group.has_reduced_axes
                          ? group.reduced == space.reduced &&
                                runs_in_parts(builder, group) == runs_in_parts(builder, space)
                          : may_reduce(builder, group, space);
    if (!fits) return std::nullopt;
  }
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (!is_readable(builder, index, space, role, space.reads[i], views[i])) return std::nullopt;
  }
  const int level = level_of(builder, index, views);
  if (role != Role::Outer && level > 0 && runs_in_parts(builder, group)) return std::nullopt;
  const int stages = std::max(group.stages, stages_after(role, level));
  if (!is_small(group.members.size() + 1, stages)) return std::nullopt;
  return role;
}

bool can_sum_columns(const FusionBuilder& builder, int index, const IterationSpace& space) {
  const KernelGroup* const found = builder.kernel_if(index);
  if (!found || found->is_closed || !found->has_reduced_axes) return false;
  const KernelGroup& group = *found;
  if (group.domain != space.domain || runs_in_parts(builder, group)) return false;
  for (std::size_t i = 0; i < group.domain.size(); ++i) {
    if (group.reduced[i] == space.reduced[i]) return false;
  }
  const ir::Dims rows = outer_dims(group);
  return !rows.empty() && rows_per_block(rows[0], builder.target).has_value();
}

bool can_merge(const FusionBuilder& builder, int into, int from, const IterationSpace& space,
               Role role, const std::vector<View>& views) {
  if (from < 0 || from == into || !builder.kernel_if(from)) return false;
  if (builder.may_precede(into, from) || builder.may_precede(from, into)) return false;
  const KernelGroup &a = builder.kernel(into), &b = builder.kernel(from);
  if (space.role == Role::Running) return false;
  if (space.role == Role::Reduce && b.has_reduced_axes && b.reduced != space.reduced) return false;
  for (std::size_t i = 0; i < views.size(); ++i) {
    const int producer = builder.group_of(views[i].source);
    const bool in_register = producer != from || is_read_in_register(builder, from, space, role,
                                                                     space.reads[i], views[i]);
    if (!in_register) return false;
    // A producer ordered after `from` would have to run both before and after the merged group.
    if (producer >= 0 && builder.may_precede(from, producer)) return false;
  }
  return !a.is_closed && !b.is_closed && a.domain == b.domain &&
         (!a.has_reduced_axes || !b.has_reduced_axes || a.reduced == b.reduced) &&
         fits_merged(builder, into, from, role, views) && keeps_parallelism(builder, a, b) &&
         !needs_total(builder, into, from, space, role, views);
}

bool has_room_for_chain(const KernelGroup& group) {
  return group.members.size() <= kMaxMembersToShareScalar;
}

bool is_full(const KernelGroup& group) {
  return !is_small(group.members.size() + 1, group.stages + 1);
}

int level_of(const FusionBuilder& builder, int index, const std::vector<View>& views) {
  int level = 0;
  for (const View& view : views) {
    if (builder.group_of(view.source) != index) continue;
    const Member* member = builder.member_of(*view.source.node);
    level = std::max(level, member->level + (member->role == Role::Reduce ? 1 : 0));
  }
  return level;
}

}  // namespace kiln::codegen
