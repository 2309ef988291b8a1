// Lanes stride over the inner points by the size of the team, so that their loads are coalesced.
#include "backends/codegen/text/team_text.h"

#include "backends/codegen/kernel/needed.h"
#include "backends/codegen/text/digits_text.h"
#include "backends/codegen/text/running_text.h"
#include "backends/codegen/text/scalar_text.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

/// Loop-invariant expressions: equal at all inner points, without index checks, and of operands
/// that the kernel does not write.
ExpressionFlags hoistable(const Kernel& kernel) {
  const ExpressionFlags inner = depends_on_inner(kernel);
  ExpressionFlags can_hoist(inner.size());
  for (const ExpressionId i : can_hoist.ids()) {
    const Expression& e = kernel.expressions[i];
    can_hoist[i] = !inner[i];
    const auto require = [&](ExpressionId other) {
      if (other) can_hoist[i] = can_hoist[i] && can_hoist[other];
    };
    for (const ExpressionId argument : e.arguments) require(argument);
    if (e.kind != ExpressionKind::Load) continue;
    const Access& access = kernel.accesses[e.access];
    require(access.when);
    const bool is_fixed = !access.dynamic && !kernel.operands[access.operand].written;
    can_hoist[i] = can_hoist[i] && is_fixed;
  }
  return can_hoist;
}

bool has_dynamic_access(const Kernel& kernel) {
  return std::any_of(kernel.accesses.begin(), kernel.accesses.end(),
                     [](const Access& access) { return access.dynamic; });
}

}  // namespace

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
      lanes_(lanes_of(schedule)),
      accumulators_(accumulators_of(kernel, schedule)),
      lane_points_(points_of_lane(kernel, schedule)),
      checks_indices_(has_dynamic_access(kernel)),
      can_hoist_(hoistable(kernel)),
      is_kept_(kernel.expressions.size(), false),
      is_known_(kernel.expressions.size(), false) {
  for (const ExpressionId one : schedule.kept) is_kept_[one] = true;
}

void TeamText::write() {
  declare_kept();
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
  const bool is_warp = schedule_.form == GridForm::Rows && lanes_ <= kWarpLanes;
  lines_.line(is_warp ? "__syncwarp();" : "__syncthreads();");
}

void TeamText::declare_kept() {
  for (const ExpressionId one : schedule_.kept) {
    lines_.line(
        text(type_text(point_.dtype_of(one)), " kept", one.number, "[", lane_points_, "];"));
  }
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
  visit_points(group);
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
  declare_out_of_range(id, "0");
  point_.evaluate(roots_of(kernel_, stage));
  for (const Store& store : stage.stores) point_.write_store(store);
  lines_.close();
}

void TeamText::write_running(StageId id) {
  codegen::write_running(kernel_, schedule_, id, point_, lines_, [&] { begin_point(id); });
}

// ---- points ----

void TeamText::visit_points(const StageGroup& group) {
  lines_.open("if (live && inner > 0)");
  point_.begin();
  hoist(group);
  if (is_unrolled(kernel_, schedule_)) {
    visit_unrolled(group);
  } else {
    visit_in_loop(group);
  }
  lines_.close();
}

void TeamText::hoist(const StageGroup& group) {
  for (const StageId s : group) {
    ExpressionFlags wanted = needed(kernel_, roots_of(kernel_, kernel_.stages[s]), is_known_);
    for (const ExpressionId i : wanted.ids()) wanted[i] = wanted[i] && can_hoist_[i];
    point_.declare(wanted);
  }
}

void TeamText::visit_unrolled(const StageGroup& group) {
  const std::int64_t whole = static_inner_points(kernel_) / lanes_;
  lines_.line("#pragma unroll");
  lines_.open(text("for (int k = 0; k < ", lane_points_, "; ++k)"));
  lines_.line(text("const s64 p = lane + k * ", lanes_, ";"));
  lines_.line(text("if (k >= ", whole, " && p >= inner) break;"));
  for (const StageId s : group) {
    if (!reductions_.is_reduction(s)) continue;
    const std::string type = accumulator_text(kernel_, kernel_.stages[s]);
    lines_.line(text(type, "& part", s.number, " = parts", s.number, "[k % ", accumulators_, "];"));
  }
  write_point(group);
  lines_.close();
}

void TeamText::visit_in_loop(const StageGroup& group) {
  std::string parameters;
  for (const StageId s : group) {
    if (!reductions_.is_reduction(s)) continue;
    parameters += text(", ", accumulator_text(kernel_, kernel_.stages[s]), "& part", s.number);
  }
  lines_.open(text("const auto visit = [&](s64 p", parameters, ")"));
  write_point(group);
  lines_.close();
  lines_.line(";");
  const std::string end = schedule_.split_k ? "end" : "inner";
  lines_.line(text("s64 p = ", schedule_.split_k ? "begin + " : "", "lane;"));
  std::vector<StageId> chained;
  for (const StageId s : group) {
    if (reductions_.has_chains(s)) chained.push_back(s);
  }
  if (chained.empty()) return visit_turns(group, end);
  const std::int64_t points = kChainTerms * accumulators_ * lanes_;
  lines_.open(text("while (p < ", end, ")"));
  lines_.line(
      text("const s64 stop = ", end, " - p > ", points, " ? p + ", points, " : ", end, ";"));
  visit_turns(group, "stop");
  for (const StageId s : chained) reductions_.end_chains(s);
  lines_.line(text("if (stop == ", end, ") break;"));
  lines_.close();
}

void TeamText::visit_turns(const StageGroup& group, const std::string& end) {
  const auto visit = [&](int k) {
    std::string arguments = text("p + ", k * lanes_);
    for (const StageId s : group) {
      if (reductions_.is_reduction(s)) arguments += text(", parts", s.number, "[", k, "]");
    }
    return text("visit(", arguments, ");");
  };
  lines_.open(text("for (; p + ", 3 * lanes_, " < ", end, "; p += ", 4 * lanes_, ")"));
  for (int k = 0; k < 4; ++k) lines_.line(visit(k));
  lines_.close();
  for (int k = 0; k < 3; ++k) {
    lines_.line(text("if (p + ", k * lanes_, " < ", end, ") ", visit(k)));
  }
}

void TeamText::begin_point(StageId stage) {
  std::vector<int> inner;
  for (int axis = kernel_.outer; axis < static_cast<int>(kernel_.axes.size()); ++axis) {
    inner.push_back(axis);
  }
  write_digits(kernel_, inner, "p", lines_);
  declare_out_of_range(stage, "p");
}

void TeamText::write_point(const StageGroup& group) {
  begin_point(group.first);
  for (const StageId s : group) {
    if (checks_indices_ && s > group.first) lines_.line("point += inner;");
    write_stage(s, kernel_.stages[s]);
  }
  // Later groups read them from registers.
  for (const ExpressionId one : schedule_.kept) {
    is_known_[one] = is_known_[one] || point_.is_declared(one);
  }
}

void TeamText::write_stage(StageId id, const Stage& stage) {
  declare(needed(kernel_, roots_of(kernel_, stage), is_known_));
  if (stage.kind == StageKind::Reduce) {
    std::string value = point_.flushed(stage.value);
    if (stage.combiner == Combiner::ArgMax) {
      value = text(accumulator_text(kernel_, stage), "{", value, ", p}");
    }
    const std::string part = text("part", id.number);
    lines_.line(text(part, " = ", combined_text(kernel_, stage, part, value), ";"));
  }
  for (const Store& store : stage.stores) point_.write_store(store);
}

void TeamText::declare(const ExpressionFlags& wanted) {
  for (const ExpressionId i : wanted.ids()) {
    if (!wanted[i] || point_.is_declared(i)) continue;
    if (is_known_[i]) {
      point_.declare(i, text("kept", i.number, "[k]"));
      continue;
    }
    point_.declare(i, point_.value(kernel_.expressions[i]));
    if (is_kept_[i]) lines_.line(text("kept", i.number, "[k] = v", i.number, ";"));
  }
}

void TeamText::declare_out_of_range(StageId id, const std::string& point) {
  if (!checks_indices_) return;
  lines_.line(text("s64 point = (outer * ", kernel_.stages.size(), " + ", id.number,
                   ") * (inner > 0 ? inner : 1) + ", point, ";"));
  lines_.line(out_of_range_lambda());
}

}  // namespace kiln::codegen
