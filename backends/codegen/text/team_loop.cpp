// Lanes stride over the inner points by the size of the team, so that their loads are coalesced.
#include "backends/codegen/text/team_loop.h"

#include "backends/codegen/kernel/needed.h"
#include "backends/codegen/text/digits_text.h"
#include "backends/codegen/text/scalar_text.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

constexpr std::int64_t kLoopTurns = 4;        // of an iteration
constexpr std::int64_t kMaxTurns = 8;         // in flight
constexpr std::int64_t kBytesInFlight = 64;   // of a thread, at most, with several turns

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

std::string old_name(StageId stage, std::size_t store) {
  return text("old", stage.number, "_", store);
}

}  // namespace

TeamLoop::TeamLoop(const Kernel& kernel, const GridSchedule& schedule, ReductionText& reductions,
                   TextLines& lines)
    : kernel_(kernel),
      schedule_(schedule),
      reductions_(reductions),
      lines_(lines),
      point_(kernel, lines),
      turns_(kernel, 1, IdVector<AccessId, bool>(kernel.accesses.size(), false), lines),
      lanes_(lanes_of(schedule)),
      accumulators_(accumulators_of(kernel, schedule)),
      lane_points_(points_of_lane(kernel, schedule)),
      checks_indices_(has_dynamic_access(kernel)),
      can_hoist_(hoistable(kernel)),
      is_kept_(kernel.expressions.size(), false),
      is_known_(kernel.expressions.size(), false) {
  for (const ExpressionId one : schedule.kept) is_kept_[one] = true;
}

void TeamLoop::declare_kept() {
  for (const ExpressionId one : schedule_.kept) {
    lines_.line(
        text(type_text(point_.dtype_of(one)), " kept", one.number, "[", lane_points_, "];"));
  }
}

void TeamLoop::write(const StageGroup& group) {
  lines_.open("if (live && inner > 0)");
  point_.begin();
  hoist(group);
  find_loads(group);
  is_unrolled(kernel_, schedule_) ? write_unrolled() : write_loop(group);
  lines_.close();
}

void TeamLoop::hoist(const StageGroup& group) {
  for (const StageId s : group) {
    ExpressionFlags wanted = needed(kernel_, roots_of(kernel_, kernel_.stages[s]), is_known_);
    for (const ExpressionId i : wanted.ids()) wanted[i] = wanted[i] && can_hoist_[i];
    point_.declare(wanted);
  }
}

// ---- early loads ----

void TeamLoop::find_loads(const StageGroup& group) {
  early_.clear();
  ExpressionFlags found = is_known_;
  for (const StageId s : group) {
    const Stage& stage = kernel_.stages[s];
    StageLoads& early = early_.emplace_back(StageLoads{s, {}, {}});
    const ExpressionFlags wanted = needed(kernel_, roots_of(kernel_, stage), is_known_);
    for (const ExpressionId i : wanted.ids()) {
      const bool is_load = kernel_.expressions[i].kind == ExpressionKind::Load;
      if (!wanted[i] || !is_load || found[i] || point_.is_declared(i)) continue;
      early.loads.push_back(i);
      found[i] = true;
    }
    // Index checks of stores keep their order.
    for (std::size_t i = 0; i < stage.stores.size(); ++i) {
      const Store& store = stage.stores[i];
      if (store.accumulate && !kernel_.accesses[store.access].dynamic) early.sums.push_back(i);
    }
  }
}

bool TeamLoop::loads_early() const {
  return std::any_of(early_.begin(), early_.end(), [](const StageLoads& early) {
    return !early.loads.empty() || !early.sums.empty();
  });
}

std::int64_t TeamLoop::turns_in_flight(std::int64_t turns) const {
  std::int64_t bytes = 0;
  const auto add = [&](ExpressionId value) {
    bytes +=
        std::max<std::int64_t>(4, static_cast<std::int64_t>(dtype_bytes(point_.dtype_of(value))));
  };
  for (const StageLoads& early : early_) {
    for (const ExpressionId load : early.loads) add(load);
    for (const std::size_t sum : early.sums) add(kernel_.stages[early.stage].stores[sum].value);
  }
  std::int64_t in_flight = kMaxTurns;
  while (in_flight > 1 && in_flight * bytes > kBytesInFlight) in_flight /= 2;
  return std::min(turns, in_flight);
}

void TeamLoop::declare_arrays(std::int64_t turns) {
  for (const StageLoads& early : early_) {
    turns_.declare(early.loads, turns);
    for (const std::size_t sum : early.sums) {
      const DType dtype = point_.dtype_of(kernel_.stages[early.stage].stores[sum].value);
      lines_.line(text(type_text(dtype), " ", old_name(early.stage, sum), "[", turns, "];"));
    }
  }
}

void TeamLoop::load_turn(PointText point) {
  begin_point(early_.front().stage);
  for (const StageLoads& early : early_) {
    if (checks_indices_ && &early != &early_.front()) lines_.line("point += inner;");
    const auto evaluate = [&](const std::vector<ExpressionId>& roots) {
      declare(needed(kernel_, roots, is_known_), point);
    };
    for (const ExpressionId load : early.loads) {
      const Access& access = kernel_.accesses[kernel_.expressions[load].access];
      evaluate({access.dynamic, access.when});
      turns_.load(load, point);
    }
    for (const std::size_t sum : early.sums) {
      const Store& store = kernel_.stages[early.stage].stores[sum];
      evaluate({kernel_.accesses[store.access].when});
      lines_.line(text(old_name(early.stage, sum), "[turn] = ", point.load(store.access), ";"));
    }
  }
}

// ---- turns ----

void TeamLoop::write_unrolled() {
  const bool is_whole = static_inner_points(kernel_) % lanes_ == 0;
  const std::int64_t whole = static_inner_points(kernel_) / lanes_;
  write_turns({lane_points_, "lane", is_whole ? "" : text("k >= ", whole, " && p >= inner")});
}

void TeamLoop::write_loop(const StageGroup& group) {
  const std::string end = schedule_.split_k ? "end" : "inner";
  lines_.line(text("s64 next = ", schedule_.split_k ? "begin + " : "", "lane;"));
  std::vector<StageId> chained;
  for (const StageId s : group) {
    if (reductions_.has_chains(s)) chained.push_back(s);
  }
  if (chained.empty()) return write_iterations(end);
  const std::int64_t points = kChainTerms * accumulators_ * lanes_;
  lines_.open(text("while (next < ", end, ")"));
  lines_.line(
      text("const s64 stop = ", end, " - next > ", points, " ? next + ", points, " : ", end, ";"));
  write_iterations("stop");
  for (const StageId s : chained) reductions_.end_chains(s);
  lines_.line(text("if (stop == ", end, ") break;"));
  lines_.close();
}

void TeamLoop::write_iterations(const std::string& end) {
  lines_.open(text("for (; next + ", (kLoopTurns - 1) * lanes_, " < ", end,
                   "; next += ", kLoopTurns * lanes_, ")"));
  write_turns({kLoopTurns, "next", ""});
  lines_.close();
  lines_.open(text("if (next < ", end, ")"));
  write_turns({kLoopTurns - 1, "next", "p >= " + end});
  lines_.close();
}

void TeamLoop::write_turns(const Turns& turns) {
  const std::int64_t in_flight = turns_in_flight(turns.count);
  if (in_flight == turns.count) {
    lines_.open("");
  } else {
    lines_.line("#pragma unroll");
    lines_.open(text("for (int from = 0; from < ", turns.count, "; from += ", in_flight, ")"));
  }
  if (loads_early()) {
    declare_arrays(in_flight);
    open_turn(turns, in_flight);
    load_turn(point_);
    lines_.close();
  }
  open_turn(turns, in_flight);
  compute_turn(point_);
  lines_.close();
  lines_.close();
}

void TeamLoop::open_turn(const Turns& turns, std::int64_t in_flight) {
  const bool is_all = in_flight == turns.count;
  lines_.line("#pragma unroll");
  lines_.open(text("for (int turn = 0; turn < ", in_flight, "; ++turn)"));
  lines_.line(text("const int k = ", is_all ? "" : "from + ", "turn;"));
  if (turns.count % in_flight != 0) lines_.line(text("if (k >= ", turns.count, ") break;"));
  lines_.line(text("const s64 p = ", turns.first, " + k * ", lanes_, ";"));
  if (!turns.end.empty()) lines_.line(text("if (", turns.end, ") break;"));
}

void TeamLoop::compute_turn(PointText point) {
  begin_point(early_.front().stage);
  for (const StageLoads& early : early_) {
    turns_.use(early.loads, point);
    for (const ExpressionId load : early.loads) keep(load);
  }
  for (const StageLoads& early : early_) {
    if (checks_indices_ && &early != &early_.front()) lines_.line("point += inner;");
    compute_stage(early, point);
  }
  // Later groups read them from registers.
  for (const ExpressionId one : schedule_.kept) {
    is_known_[one] = is_known_[one] || point.is_declared(one);
  }
}

void TeamLoop::compute_stage(const StageLoads& early, PointText& point) {
  const Stage& stage = kernel_.stages[early.stage];
  declare(needed(kernel_, roots_of(kernel_, stage), is_known_), point);
  if (stage.kind == StageKind::Reduce) {
    std::string value = point.flushed(stage.value);
    if (stage.combiner == Combiner::ArgMax) {
      value = text(accumulator_text(kernel_, stage), "{", value, ", p}");
    }
    const std::string part = text("parts", early.stage.number, "[k % ", accumulators_, "]");
    lines_.line(text(part, " = ", combined_text(kernel_, stage, part, value), ";"));
  }
  for (std::size_t i = 0; i < stage.stores.size(); ++i) {
    const bool is_early = std::find(early.sums.begin(), early.sums.end(), i) != early.sums.end();
    point.write_store(stage.stores[i], is_early ? old_name(early.stage, i) + "[turn]" : "");
  }
}

void TeamLoop::declare(const ExpressionFlags& wanted, PointText& point) {
  for (const ExpressionId i : wanted.ids()) {
    if (!wanted[i] || point.is_declared(i)) continue;
    if (is_known_[i]) {
      point.declare(i, text("kept", i.number, "[k]"));
      continue;
    }
    point.declare(i, point.value(kernel_.expressions[i]));
    keep(i);
  }
}

void TeamLoop::keep(ExpressionId one) {
  if (is_kept_[one]) lines_.line(text("kept", one.number, "[k] = v", one.number, ";"));
}

// ---- points ----

void TeamLoop::begin_point(StageId stage) {
  std::vector<int> inner;
  for (int axis = kernel_.outer; axis < static_cast<int>(kernel_.axes.size()); ++axis) {
    inner.push_back(axis);
  }
  write_digits(kernel_, inner, "p", lines_);
  declare_out_of_range(stage, "p");
}

void TeamLoop::declare_out_of_range(StageId stage, const std::string& p) {
  if (!checks_indices_) return;
  lines_.line(text("s64 point = (outer * ", kernel_.stages.size(), " + ", stage.number,
                   ") * (inner > 0 ? inner : 1) + ", p, ";"));
  lines_.line(out_of_range_lambda());
}

}  // namespace kiln::codegen
