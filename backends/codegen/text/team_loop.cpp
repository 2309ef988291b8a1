// Lanes stride over the inner points, so that their loads are coalesced.
#include "backends/codegen/text/team_loop.h"

#include "backends/codegen/grid/held_sums.h"
#include "backends/codegen/grid/loop_invariants.h"
#include "backends/codegen/grid/vector_access.h"
#include "backends/codegen/kernel/needed.h"
#include "backends/codegen/text/digits_text.h"
#include "backends/codegen/text/scalar_text.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

constexpr std::int64_t kMaxLoopTurns = 4;     // of an iteration
constexpr std::int64_t kMaxTurns = 8;         // in flight
constexpr std::int64_t kBytesInFlight = 64;   // of a thread, at most, with several turns

}  // namespace

std::string TeamLoop::old_name(StageId stage, std::size_t store) {
  return text("old", stage.number, "_", store);
}

std::string TeamLoop::stored_name(StageId stage, std::size_t store) {
  return text("y", stage.number, "_", store);
}

TeamLoop::TeamLoop(const Kernel& kernel, const GridSchedule& schedule, ReductionText& reductions,
                   TextLines& lines)
    : kernel_(kernel),
      schedule_(schedule),
      reductions_(reductions),
      lines_(lines),
      point_(kernel, lines),
      memory_(kernel, schedule.elements),
      turns_(kernel, memory_, vector_accesses(kernel, schedule.elements).is_vector, lines),
      lanes_(lanes_of(schedule)),
      accumulators_(accumulators_of(kernel, schedule)),
      elements_(schedule.elements),
      lane_points_(points_of_lane(kernel, schedule)),
      stride_(std::int64_t{lanes_} * elements_),
      checks_indices_(has_dynamic_access(kernel)),
      can_hoist_(loop_invariants(kernel)),
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
      const bool is_early = store.accumulate && !kernel_.accesses[store.access].dynamic;
      if (is_early && !is_held(store)) early.sums.push_back(i);
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
      const std::string type = elements_ > 1 ? memory_.type(dtype) : type_text(dtype);
      lines_.line(text(type, " ", old_name(early.stage, sum), "[", turns, "];"));
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
  const std::int64_t turns = lane_points_ / elements_;
  const std::int64_t points = static_inner_points(kernel_);
  write_turns({turns, points / stride_, first_of_lane(), "inner", false});
}

void TeamLoop::write_loop(const StageGroup& group) {
  const std::string end = schedule_.split_k ? "end" : "inner";
  lines_.line(text("s64 next = ", schedule_.split_k ? "begin + " : "", first_of_lane(), ";"));
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

std::string TeamLoop::first_of_lane() const {
  return elements_ == 1 ? "lane" : text("lane * ", elements_);
}

void TeamLoop::write_iterations(const std::string& end) {
  const bool may_end_within = elements_ > 1 && !kernel_.axes.back().is_static();
  // Whole rounds of the accumulators.
  const std::int64_t turns =
      std::max<std::int64_t>(turns_in_flight(kMaxLoopTurns), accumulators_ / elements_);
  const std::int64_t last = (turns - 1) * stride_ + (may_end_within ? elements_ - 1 : 0);
  lines_.open(text("for (; next + ", last, " < ", end, "; next += ", turns * stride_, ")"));
  write_turns({turns, turns, "next", end, false});
  lines_.close();
  const std::int64_t rest = may_end_within ? turns : turns - 1;
  if (rest == 0) return;
  lines_.open(text("if (next < ", end, ")"));
  write_turns({rest, 0, "next", end, may_end_within});
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
    elements_ == 1 ? load_turn(point_) : load_vectors(turns);
    lines_.close();
  }
  open_turn(turns, in_flight);
  elements_ == 1 ? compute_turn(point_) : compute_vectors(turns);
  lines_.close();
  lines_.close();
}

void TeamLoop::open_turn(const Turns& turns, std::int64_t in_flight) {
  const char* number = elements_ == 1 ? "k" : "group";
  const char* point = elements_ == 1 ? "p" : "base";
  lines_.line("#pragma unroll");
  lines_.open(text("for (int turn = 0; turn < ", in_flight, "; ++turn)"));
  lines_.line(
      text("const int ", number, " = ", in_flight == turns.count ? "" : "from + ", "turn;"));
  if (turns.count % in_flight != 0) {
    lines_.line(text("if (", number, " >= ", turns.count, ") break;"));
  }
  lines_.line(text("const s64 ", point, " = ", turns.first, " + ", number, " * ", stride_, ";"));
  if (turns.whole == turns.count) return;
  const std::string may_end = turns.whole == 0 ? "" : text(number, " >= ", turns.whole, " && ");
  lines_.line(text("if (", may_end, point, " >= ", turns.end, ") break;"));
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
  note_known(point);
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
  for (std::size_t i = 0; i < stage.stores.size(); ++i) write_store(early, i, point);
}

void TeamLoop::write_store(const StageLoads& early, std::size_t number, PointText& point) {
  const Store& store = kernel_.stages[early.stage].stores[number];
  if (is_held(store)) {
    const std::string held = held_name(kernel_.accesses[store.access].operand) + "[k]";
    return lines_.line(text(held, " = ", point.sum(store, held), ";"));
  }
  if (elements_ > 1) {
    lines_.line(text(stored_name(early.stage, number), "[e] = v", store.value.number, ";"));
    return;
  }
  const bool is_early = std::find(early.sums.begin(), early.sums.end(), number) != early.sums.end();
  point.write_store(store, is_early ? old_name(early.stage, number) + "[turn]" : "");
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

void TeamLoop::note_known(const PointText& point) {
  // Later groups read them from registers.
  for (const ExpressionId one : schedule_.kept) {
    is_known_[one] = is_known_[one] || point.is_declared(one);
  }
}

// ---- sums in registers ----

bool TeamLoop::is_held(const Store& store) const {
  const OperandId operand = kernel_.accesses[store.access].operand;
  return std::ranges::find(schedule_.held, operand) != schedule_.held.end();
}

void TeamLoop::write_held(bool is_store) {
  if (schedule_.held.empty()) return;
  if (!is_store) {
    for (const OperandId operand : schedule_.held) {
      lines_.line(text(type_text(kernel_.operands[operand].dtype), " ", held_name(operand), "[",
                       lane_points_, "];"));
    }
  }
  const std::int64_t turns = lane_points_ / elements_;
  const Turns all{turns, static_inner_points(kernel_) / stride_, first_of_lane(), "inner", false};
  const int depth = lines_.depth();
  lines_.open("if (live && inner > 0)");
  open_turn(all, turns);
  if (elements_ > 1) {
    open_elements(all);
    lines_.line(text("const int k = group * ", elements_, " + e;"));
    lines_.line("const s64 p = base + e;");
  }
  write_digits(kernel_, inner_axes(), "p", lines_);
  for (const OperandId operand : schedule_.held) {
    const ColumnSum sum = *held_sum(kernel_, schedule_.axes, operand);
    const Store& store = kernel_.stages[sum.stage].stores[sum.store];
    const std::string at = point_.element(store.access), held = held_name(operand) + "[k]";
    const DType dtype = kernel_.operands[operand].dtype;
    lines_.line(is_store ? store_text(dtype, at, held)
                         : text(held, " = ", load_text(dtype, at), ";"));
  }
  lines_.close_to(depth);
}

// ---- points ----

void TeamLoop::begin_point(StageId stage) {
  write_digits(kernel_, inner_axes(), "p", lines_);
  declare_out_of_range(stage, "p");
}

std::vector<int> TeamLoop::inner_axes() const {
  std::vector<int> inner;
  for (int axis = kernel_.outer; axis < static_cast<int>(kernel_.axes.size()); ++axis) {
    inner.push_back(axis);
  }
  return inner;
}

void TeamLoop::declare_out_of_range(StageId stage, const std::string& p) {
  if (!checks_indices_) return;
  lines_.line(text("s64 point = (outer * ", kernel_.stages.size(), " + ", stage.number,
                   ") * (inner > 0 ? inner : 1) + ", p, ";"));
  lines_.line(out_of_range_lambda());
}

}  // namespace kiln::codegen
