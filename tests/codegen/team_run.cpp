// Lanes run one after the other in each stage, so that barriers hold by themselves.
#include "tests/codegen/team_run.h"

#include <algorithm>

namespace kiln::test {

using namespace codegen;

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

TeamRun::TeamRun(const Kernel& kernel, const GridSchedule& schedule, KernelRun& run,
                 ThreadOrder order, std::function<void(std::int64_t)> record)
    : kernel_(kernel),
      schedule_(schedule),
      run_(run),
      order_(order),
      record_(std::move(record)),
      lanes_(lanes_of(schedule)) {}

void TeamRun::run_stages() {
  for (std::size_t s = 0; s < kernel_.stages.size(); ++s) run_stage(s);
}

void TeamRun::run_stage(std::size_t s) {
  const Stage& stage = kernel_.stages[s];
  if (stage.kind == StageKind::Reduce) {
    return stage.combiner == Combiner::ArgMax ? find_place(s) : reduce(s);
  }
  if (stage.inner) return visit_points(s, [](std::int64_t, std::int64_t) {});
  run_.finish_point(s);
  const std::int64_t stages = static_cast<std::int64_t>(kernel_.stages.size());
  record_((run_.outer_number() * stages + static_cast<std::int64_t>(s)) *
          std::max<std::int64_t>(run_.inner_points(), 1));
}

void TeamRun::visit_points(std::size_t s,
                           const std::function<void(std::int64_t lane, std::int64_t turn)>& visit) {
  const std::int64_t points = run_.inner_points();
  const std::int64_t stages = static_cast<std::int64_t>(kernel_.stages.size());
  const std::int64_t first = (run_.outer_number() * stages + static_cast<std::int64_t>(s)) * points;
  const std::int64_t lanes = std::min(lanes_, points);
  for (std::int64_t i = 0; i < lanes; ++i) {
    const std::int64_t lane = thread_at(order_, i, lanes);
    for (std::int64_t turn = 0; lane + turn * lanes_ < points; ++turn) {
      const std::int64_t point = lane + turn * lanes_;
      run_.move_to(point);
      visit(lane, turn);
      run_.finish_point(s);
      record_(first + point);
    }
  }
}

void TeamRun::reduce(std::size_t s) {
  const Stage& stage = kernel_.stages[s];
  const std::int64_t accumulators = accumulators_of(kernel_, schedule_);
  std::vector<Bits> parts(at(lanes_ * accumulators), start_bits(stage.combiner, dtype_of(stage)));
  visit_points(s, [&](std::int64_t lane, std::int64_t turn) {
    Bits& part = parts[at(lane * accumulators + turn % accumulators)];
    part = combine(stage, part, run_.value_at_point(s));
  });
  std::vector<Bits> lanes;
  for (std::int64_t lane = 0; lane < lanes_; ++lane) {
    Bits all = parts[at(lane * accumulators)];
    for (std::int64_t k = 1; k < accumulators; ++k) {
      all = combine(stage, all, parts[at(lane * accumulators + k)]);
    }
    lanes.push_back(all);
  }
  run_.set_result(s, combine_lanes(stage, lanes));
}

/// The largest value and the first of equals do not depend on the tree.
void TeamRun::find_place(std::size_t s) {
  const Stage& stage = kernel_.stages[s];
  std::vector<Bits> values(at(run_.inner_points()));
  visit_points(s, [&](std::int64_t lane, std::int64_t turn) {
    values[at(lane + turn * lanes_)] = run_.value_at_point(s);
  });
  std::size_t best = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (is_above(values[i], values[best], dtype_of(stage))) best = i;
  }
  run_.set_result(s, best);
}

TeamRun::Bits TeamRun::combine_lanes(const Stage& stage, std::vector<Bits>& lanes) const {
  const bool is_rows = schedule_.form == GridForm::Rows;
  const std::int64_t count = is_rows ? std::min<std::int64_t>(lanes_, kWarpLanes) : 1;
  Bits all = combine_warp(stage, lanes.data(), count);
  for (std::int64_t first = count; first < lanes_; first += count) {
    all = combine(stage, all, combine_warp(stage, lanes.data() + first, count));
  }
  return all;
}

/// The result of the first lane: at each distance only the lanes below it matter.
TeamRun::Bits TeamRun::combine_warp(const Stage& stage, Bits* lanes, std::int64_t count) const {
  for (std::int64_t distance = count / 2; distance > 0; distance /= 2) {
    for (std::int64_t lane = 0; lane < distance; ++lane) {
      lanes[lane] = combine(stage, lanes[lane], lanes[lane + distance]);
    }
  }
  return lanes[0];
}

TeamRun::Bits TeamRun::combine(const Stage& stage, Bits x, Bits y) const {
  return combined(stage.combiner, dtype_of(stage), x, y);
}

DType TeamRun::dtype_of(const Stage& stage) const {
  return kernel_.expressions[at(stage.value)].dtype;
}

}  // namespace kiln::test
