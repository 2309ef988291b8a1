// Runs lanes one after the other in each stage, so that no barriers are needed.
#include "tests/backends/codegen/team_run.h"

#include "core/types/at.h"

#include <algorithm>

namespace kiln::test {

using namespace codegen;

TeamRun::TeamRun(const Kernel& kernel, const GridSchedule& schedule, KernelRun& run,
                 ThreadOrder order, std::function<void(std::int64_t)> record)
    : kernel_(kernel),
      schedule_(schedule),
      run_(run),
      order_(order),
      record_(std::move(record)),
      lanes_(lanes_of(schedule)),
      elements_(schedule.elements) {}

void TeamRun::run_stages() {
  for (const StageId s : kernel_.stages.ids()) {
    if (!kernel_.stages[s].inner) {
      run_stage_once(s);
    } else {
      set_result(s, run_stage(s, 0, run_.inner_points()));
    }
  }
}

void TeamRun::set_result(StageId s, const Result& result) {
  const Stage& stage = kernel_.stages[s];
  if (stage.kind != StageKind::Reduce) return;
  const bool is_arg_max = stage.combiner == Combiner::ArgMax;
  run_.set_result(
      s, is_arg_max ? static_cast<Bits>(std::max<std::int64_t>(result.index, 0)) : result.bits);
}

TeamRun::Result TeamRun::run_stage(StageId s, std::int64_t begin, std::int64_t end) {
  const Stage& stage = kernel_.stages[s];
  if (stage.kind == StageKind::Reduce) {
    if (stage.combiner == Combiner::ArgMax) return find_arg_max(s, begin, end);
    return {reduce(s, begin, end)};
  }
  if (stage.kind == StageKind::Running) {
    run_chunks(s);
  } else {
    visit_points(s, begin, end, [](std::int64_t, std::int64_t, std::int64_t) {});
  }
  return {};
}

void TeamRun::run_stage_once(StageId s) {
  run_.finish_point(s);
  const std::int64_t stages = static_cast<std::int64_t>(kernel_.stages.size());
  record_((run_.outer_number() * stages + s.number) *
          std::max<std::int64_t>(run_.inner_points(), 1));
}

void TeamRun::visit_points(StageId s, std::int64_t begin, std::int64_t end, const Visit& visit) {
  const std::int64_t stages = static_cast<std::int64_t>(kernel_.stages.size());
  const std::int64_t first = (run_.outer_number() * stages + s.number) * run_.inner_points();
  const std::int64_t lanes = std::min(lanes_, end - begin);
  for (std::int64_t i = 0; i < lanes; ++i) {
    const std::int64_t lane = thread_at(order_, i, lanes);
    for (std::int64_t turn = 0;; ++turn) {
      const std::int64_t group = turn / elements_ * lanes_ + lane;
      const std::int64_t point = begin + group * elements_ + turn % elements_;
      if (point >= end) break;
      run_.move_to(point);
      visit(lane, turn, point);
      run_.finish_point(s);
      record_(first + point);
    }
  }
}

void TeamRun::run_chunks(StageId s) {
  const Stage& stage = kernel_.stages[s];
  Bits carry = identity_bits(stage.combiner, dtype_of(stage));
  for (std::int64_t begin = 0; begin < run_.inner_points(); begin += kRunningTurns * lanes_) {
    run_chunk(s, begin, carry);
  }
}

/// All values of the chunk are read before any is stored.
void TeamRun::run_chunk(StageId s, std::int64_t begin, Bits& carry) {
  const Stage& stage = kernel_.stages[s];
  const Bits start = identity_bits(stage.combiner, dtype_of(stage));
  const std::int64_t points = run_.inner_points();
  const std::int64_t width = std::min<std::int64_t>(lanes_, kWarpLanes);
  const std::int64_t chunk = kRunningTurns * lanes_, of_warp = kRunningTurns * width;
  const std::int64_t count = std::min(chunk, points - begin);
  const std::int64_t stages = static_cast<std::int64_t>(kernel_.stages.size());
  const std::int64_t first = (run_.outer_number() * stages + s.number) * points + begin;
  std::vector<Bits> values(at(chunk), start);
  for (std::int64_t i = 0; i < count; ++i) {
    run_.move_to(begin + i);
    values[at(i)] = run_.value_at_point(s);
    record_(first + i);
  }
  for (std::int64_t warp = 0; warp < chunk; warp += of_warp) {
    Bits total = start;
    for (std::int64_t turn = warp; turn < warp + of_warp; turn += width) {
      const Bits all = scan(stage, values.data() + turn, width);
      for (std::int64_t i = turn; i < turn + width; ++i) {
        values[at(i)] = combine(stage, total, values[at(i)]);
      }
      total = combine(stage, total, all);
    }
    for (std::int64_t i = warp; i < warp + of_warp; ++i) {
      values[at(i)] = combine(stage, carry, values[at(i)]);
    }
    carry = combine(stage, carry, total);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    run_.move_to(begin + i);
    run_.set_result(s, values[at(i)]);
    run_.finish_point(s);
    record_(first + i);
  }
}

TeamRun::Bits TeamRun::scan(const Stage& stage, Bits* lanes, std::int64_t count) const {
  std::vector<Bits> all(lanes, lanes + count);
  for (std::int64_t distance = 1; distance < count; distance *= 2) {
    const std::vector<Bits> before = all;
    for (std::int64_t lane = 0; lane < count; ++lane) {
      const Bits other = before[at(lane ^ distance)], own = before[at(lane)];
      const bool is_upper = (lane & distance) != 0;
      if (is_upper) lanes[lane] = combine(stage, other, lanes[lane]);
      all[at(lane)] = is_upper ? combine(stage, other, own) : combine(stage, own, other);
    }
  }
  return all[0];
}

TeamRun::Bits TeamRun::reduce(StageId s, std::int64_t begin, std::int64_t end) {
  const Stage& stage = kernel_.stages[s];
  const std::int64_t accumulators = accumulators_of(kernel_, schedule_);
  const Bits start = identity_bits(stage.combiner, dtype_of(stage));
  const bool is_chained = has_chains(kernel_, schedule_, stage);
  std::vector<Bits> parts(at(lanes_ * accumulators), start), sums = parts;
  const auto end_chain = [&](std::size_t i) {
    sums[i] = is_chained ? combine(stage, sums[i], parts[i]) : parts[i];
    if (is_chained) parts[i] = start;
  };
  visit_points(s, begin, end, [&](std::int64_t lane, std::int64_t turn, std::int64_t) {
    const std::size_t i = at(lane * accumulators + turn % accumulators);
    if (is_chained && turn >= accumulators && turn / accumulators % kChainTerms == 0) end_chain(i);
    parts[i] = combine(stage, parts[i], run_.value_at_point(s));
  });
  for (std::size_t i = 0; i < parts.size(); ++i) end_chain(i);
  std::vector<Bits> lanes;
  for (std::int64_t lane = 0; lane < lanes_; ++lane) {
    Bits all = sums[at(lane * accumulators)];
    for (std::int64_t k = 1; k < accumulators; ++k) {
      all = combine(stage, all, sums[at(lane * accumulators + k)]);
    }
    lanes.push_back(all);
  }
  return combine_lanes(stage, lanes);
}

/// The largest value and the first of equals do not depend on the order of combination.
TeamRun::Result TeamRun::find_arg_max(StageId s, std::int64_t begin, std::int64_t end) {
  std::vector<Result> values(at(end - begin));
  visit_points(s, begin, end, [&](std::int64_t, std::int64_t, std::int64_t point) {
    values[at(point - begin)] = {run_.value_at_point(s), point};
  });
  return first_best(kernel_.stages[s], values);
}

TeamRun::Result TeamRun::first_best(const Stage& stage, const std::vector<Result>& values) const {
  Result best;
  for (const Result& one : values) {
    if (best.index < 0 || is_above(one.bits, best.bits, dtype_of(stage))) best = one;
  }
  return best;
}

TeamRun::Result TeamRun::combine_parts(StageId s, const std::vector<Result>& parts) const {
  const Stage& stage = kernel_.stages[s];
  if (stage.combiner == Combiner::ArgMax) return first_best(stage, parts);
  std::vector<Bits> lanes(at(lanes_), identity_bits(stage.combiner, dtype_of(stage)));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Bits& lane = lanes[i % lanes.size()];
    lane = combine(stage, lane, parts[i].bits);
  }
  return {combine_lanes(stage, lanes)};
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

/// The result of the first lane: at each distance only the lanes below that distance matter.
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

DType TeamRun::dtype_of(const Stage& stage) const { return kernel_.expressions[stage.value].dtype; }

}  // namespace kiln::test
