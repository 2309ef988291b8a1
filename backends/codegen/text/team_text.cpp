// Lanes go over the inner points in steps of the team, so that neighbours load neighbours.
#include "backends/codegen/text/team_text.h"

#include "backends/codegen/kernel/needed.h"
#include "backends/codegen/text/digits_text.h"
#include "backends/codegen/text/scalar_text.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Expressions that do not differ between inner points, and that no fault or store can change.
std::vector<bool> hoistable(const Kernel& kernel) {
  std::vector<bool> can_hoist = depends_on_inner(kernel);
  can_hoist.flip();
  for (std::size_t i = 0; i < can_hoist.size(); ++i) {
    const Expression& e = kernel.expressions[i];
    const auto require = [&](int other) {
      if (other >= 0) can_hoist[i] = can_hoist[i] && can_hoist[at(other)];
    };
    for (const int argument : e.arguments) require(argument);
    if (e.kind != ExpressionKind::Load) continue;
    const Access& access = kernel.accesses[at(e.number)];
    require(access.when);
    const bool is_fixed = access.dynamic < 0 && !kernel.operands[at(access.operand)].written;
    can_hoist[i] = can_hoist[i] && is_fixed;
  }
  return can_hoist;
}

bool has_dynamic_access(const Kernel& kernel) {
  return std::any_of(kernel.accesses.begin(), kernel.accesses.end(),
                     [](const Access& access) { return access.dynamic >= 0; });
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
// The largest value and its place; below 0: none yet.
template <class T> struct Best {
  T value;
  s64 place;
};
template <class T> Best<T> exchanged(Best<T> x, int distance) {
  return {exchanged(x.value, distance), exchanged(x.place, distance)};
}
template <class T> Best<T> best_of(Best<T> x, Best<T> y) {
  if (x.place < 0 || y.place < 0) return x.place < 0 ? y : x;
  if (above(x.value, y.value)) return x;
  return above(y.value, x.value) || y.place < x.place ? y : x;
}
}  // namespace
)";
}

TeamText::TeamText(const Kernel& kernel, const GridSchedule& schedule, TextLines& lines)
    : kernel_(kernel),
      schedule_(schedule),
      lines_(lines),
      point_(kernel, lines),
      lanes_(lanes_of(schedule)),
      accumulators_(accumulators_of(kernel, schedule)),
      lane_points_(points_of_lane(kernel, schedule)),
      has_faults_(has_dynamic_access(kernel)),
      can_hoist_(hoistable(kernel)),
      is_kept_(kernel.expressions.size(), false),
      is_known_(kernel.expressions.size(), false) {
  for (const int one : schedule.kept) is_kept_[at(one)] = true;
}

std::string TeamText::shared() const {
  std::string out;
  const int elements = shared_elements(schedule_);
  for (std::size_t s = 0; elements > 0 && s < kernel_.stages.size(); ++s) {
    const Stage& stage = kernel_.stages[s];
    if (stage.kind != StageKind::Reduce) continue;
    out += text("static __shared__ ", accumulator(stage), " ", kernel_.name, "_shared", s, "[",
                elements, "];\n");
  }
  return out;
}

void TeamText::write() {
  declare_kept();
  const std::vector<int>& before = schedule_.barrier_before;
  for (const StageGroup& group : stage_groups(kernel_, before)) {
    if (std::find(before.begin(), before.end(), group.first) != before.end()) barrier();
    write(group);
  }
  // Before shared memory is written again, and before the next point adds to the same elements.
  const bool is_in_order = static_cast<int>(schedule_.axes.size()) < kernel_.outer;
  if (is_in_order || shared_bytes(kernel_, schedule_) > 0) barrier();
}

void TeamText::barrier() {
  const bool is_warp = schedule_.form == GridForm::Rows && lanes_ <= kWarpLanes;
  lines_.line(is_warp ? "__syncwarp();" : "__syncthreads();");
}

void TeamText::declare_kept() {
  for (const int one : schedule_.kept) {
    lines_.line(text(type_text(point_.dtype_of(one)), " kept", one, "[", lane_points_, "];"));
  }
}

bool TeamText::is_reduction(int stage) const {
  return kernel_.stages[at(stage)].kind == StageKind::Reduce;
}

void TeamText::write(const StageGroup& group) {
  const Stage& first = kernel_.stages[at(group.first)];
  if (!first.inner) return write_once(group.first, first);
  for (int s = group.first; s < group.last; ++s) {
    if (is_reduction(s)) declare_parts(s, kernel_.stages[at(s)]);
  }
  visit_points(group);
  for (int s = group.first; s < group.last; ++s) {
    if (!is_reduction(s)) continue;
    combine_parts(s, kernel_.stages[at(s)]);
    combine_lanes(s, kernel_.stages[at(s)]);
  }
}

void TeamText::write_once(int number, const Stage& stage) {
  lines_.open("if (live && lane == 0)");
  point_.begin();
  write_fault(number, "0");
  point_.evaluate(roots_of(kernel_, stage));
  for (const Store& store : stage.stores) point_.write_store(store);
  lines_.close();
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
  for (int s = group.first; s < group.last; ++s) {
    std::vector<bool> wanted = needed(kernel_, roots_of(kernel_, kernel_.stages[at(s)]), is_known_);
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = wanted[i] && can_hoist_[i];
    point_.declare(wanted);
  }
}

void TeamText::visit_unrolled(const StageGroup& group) {
  const std::int64_t whole = static_inner_points(kernel_) / lanes_;
  lines_.line("#pragma unroll");
  lines_.open(text("for (int k = 0; k < ", lane_points_, "; ++k)"));
  lines_.line(text("const s64 p = lane + k * ", lanes_, ";"));
  lines_.line(text("if (k >= ", whole, " && p >= inner) break;"));
  for (int s = group.first; s < group.last; ++s) {
    if (!is_reduction(s)) continue;
    lines_.line(text(accumulator(kernel_.stages[at(s)]), "& part", s, " = parts", s, "[k % ",
                     accumulators_, "];"));
  }
  write_point(group);
  lines_.close();
}

void TeamText::visit_in_loop(const StageGroup& group) {
  std::string parameters;
  for (int s = group.first; s < group.last; ++s) {
    if (!is_reduction(s)) continue;
    parameters += text(", ", accumulator(kernel_.stages[at(s)]), "& part", s);
  }
  lines_.open(text("const auto visit = [&](s64 p", parameters, ")"));
  write_point(group);
  lines_.close();
  lines_.line(";");
  const auto visit = [&](int k) {
    std::string arguments = text("p + ", k * lanes_);
    for (int s = group.first; s < group.last; ++s) {
      if (is_reduction(s)) arguments += text(", parts", s, "[", k, "]");
    }
    return text("visit(", arguments, ");");
  };
  lines_.line("s64 p = lane;");
  lines_.open(text("for (; p + ", 3 * lanes_, " < inner; p += ", 4 * lanes_, ")"));
  for (int k = 0; k < 4; ++k) lines_.line(visit(k));
  lines_.close();
  for (int k = 0; k < 3; ++k) lines_.line(text("if (p + ", k * lanes_, " < inner) ", visit(k)));
}

void TeamText::write_point(const StageGroup& group) {
  std::vector<int> inner;
  for (int axis = kernel_.outer; axis < static_cast<int>(kernel_.axes.size()); ++axis) {
    inner.push_back(axis);
  }
  write_digits(kernel_, inner, "p", lines_);
  write_fault(group.first, "p");
  for (int s = group.first; s < group.last; ++s) {
    if (has_faults_ && s > group.first) lines_.line("point += inner;");
    write_stage(s, kernel_.stages[at(s)]);
  }
  // Later groups read them from registers.
  for (const int one : schedule_.kept) {
    is_known_[at(one)] = is_known_[at(one)] || point_.is_declared(one);
  }
}

void TeamText::write_stage(int number, const Stage& stage) {
  declare(needed(kernel_, roots_of(kernel_, stage), is_known_));
  if (stage.kind == StageKind::Reduce) {
    const DType dtype = point_.dtype_of(stage.value);
    std::string value = operand_text(dtype, text("v", stage.value));
    if (stage.combiner == Combiner::ArgMax) value = text(accumulator(stage), "{", value, ", p}");
    const std::string part = text("part", number);
    lines_.line(text(part, " = ", combined(stage, part, value), ";"));
  }
  for (const Store& store : stage.stores) point_.write_store(store);
}

void TeamText::declare(const std::vector<bool>& wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const int number = static_cast<int>(i);
    if (!wanted[i] || point_.is_declared(number)) continue;
    if (is_known_[i]) {
      point_.declare(number, text("kept", i, "[k]"));
      continue;
    }
    point_.declare(number, point_.value(kernel_.expressions[i]));
    if (is_kept_[i]) lines_.line(text("kept", i, "[k] = v", i, ";"));
  }
}

void TeamText::write_fault(int number, const std::string& point) {
  if (!has_faults_) return;
  lines_.line(text("s64 point = (outer * ", kernel_.stages.size(), " + ", number,
                   ") * (inner > 0 ? inner : 1) + ", point, ";"));
  lines_.line(fault_text());
}

// ---- reductions ----

std::string TeamText::accumulator(const Stage& stage) const {
  const std::string type = type_text(point_.dtype_of(stage.value));
  return stage.combiner == Combiner::ArgMax ? text("Best<", type, ">") : type;
}

std::string TeamText::combined(const Stage& stage, const std::string& a,
                               const std::string& b) const {
  if (stage.combiner == Combiner::ArgMax) return text("best_of(", a, ", ", b, ")");
  static constexpr ir::Op kOps[] = {ir::Op::Identity, ir::Op::Add, ir::Op::Mul, ir::Op::Maximum,
                                    ir::Op::Minimum};
  const DType dtype = point_.dtype_of(stage.value);
  return apply_text(kOps[static_cast<int>(stage.combiner)], dtype, dtype, {a, b});
}

void TeamText::declare_parts(int number, const Stage& stage) {
  const DType dtype = point_.dtype_of(stage.value);
  const bool is_pair = stage.combiner == Combiner::ArgMax;
  const std::string start =
      is_pair ? "{{}, -1}" : constant_text(dtype, start_bits(stage.combiner, dtype));
  std::vector<std::string> starts(at(accumulators_), start);
  lines_.line(text(accumulator(stage), " parts", number, "[", accumulators_, "] = {",
                   join_text(starts), "};"));
}

void TeamText::combine_parts(int number, const Stage& stage) {
  const std::string all = text("all", number);
  lines_.line(text(accumulator(stage), " ", all, " = parts", number, "[0];"));
  for (int k = 1; k < accumulators_; ++k) {
    const std::string part = text("parts", number, "[", k, "]");
    lines_.line(text(all, " = ", combined(stage, all, part), ";"));
  }
}

void TeamText::combine_lanes(int number, const Stage& stage) {
  const std::string all = text("all", number);
  if (schedule_.form == GridForm::Rows) {
    for (int distance = std::min(lanes_, kWarpLanes) / 2; distance > 0; distance /= 2) {
      const std::string other = text("exchanged(", all, ", ", distance, ")");
      lines_.line(text(all, " = ", combined(stage, all, other), ";"));
    }
  }
  if (shared_elements(schedule_) > 0) combine_shared(number, stage);
  const bool is_pair = stage.combiner == Combiner::ArgMax;
  const std::string type = is_pair ? "s64" : accumulator(stage);
  const std::string value = is_pair ? text(all, ".place < 0 ? 0 : ", all, ".place") : all;
  lines_.line(text("const ", type, " r", number, " = ", value, ";"));
}

void TeamText::combine_shared(int number, const Stage& stage) {
  const std::string all = text("all", number);
  const std::string shared = text(kernel_.name, "_shared", number);
  const bool is_rows = schedule_.form == GridForm::Rows;
  const int parts = is_rows ? lanes_ / kWarpLanes : lanes_;
  const auto element = [&](const std::string& part) {
    return is_rows ? text(shared, "[team * ", parts, " + ", part, "]")
                   : text(shared, "[", part, " * ", schedule_.teams, " + team]");
  };
  const std::string condition = is_rows ? text("if (lane % ", kWarpLanes, " == 0) ") : "";
  const std::string own = is_rows ? text("lane / ", kWarpLanes) : "lane";
  lines_.line(text(condition, element(own), " = ", all, ";"));
  lines_.line("__syncthreads();");
  lines_.line(text(all, " = ", element("0"), ";"));
  lines_.open(text("for (int i = 1; i < ", parts, "; ++i)"));
  lines_.line(text(all, " = ", combined(stage, all, element("i")), ";"));
  lines_.close();
}

}  // namespace kiln::codegen
