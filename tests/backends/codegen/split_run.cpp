// Partial results have the layout of the text: an accumulator each, or the largest value and its
// index.
#include "tests/backends/codegen/split_run.h"

#include "backends/codegen/grid/split_rows.h"

#include <cstring>

namespace kiln::test {

using namespace codegen;

namespace {

constexpr std::size_t kIndexOffset = 8;  // of the index of arg_max

std::size_t value_bytes(const Kernel& kernel, StageId stage) {
  return dtype_bytes(kernel.expressions[kernel.stages[stage].value].dtype);
}

}  // namespace

SplitRun::SplitRun(const Kernel& kernel, const GridSchedule& schedule, KernelRun& run,
                   TeamRun& team, const GridCall& call)
    : kernel_(kernel),
      schedule_(schedule),
      run_(run),
      team_(team),
      call_(call),
      parts_((run.inner_points() - 1) / call.part_points + 1) {}

void SplitRun::run() {
  for (std::int64_t turn = 0; turn < call_.blocks; ++turn) {
    run_block(thread_at(call_.order, turn, call_.blocks));
  }
}

void SplitRun::run_block(std::int64_t block) {
  const std::int64_t part = block % parts_, teams = schedule_.teams;
  const std::int64_t stride = call_.blocks / parts_ * teams;
  for (std::int64_t first = block / parts_ * teams; first < call_.points; first += stride) {
    const std::int64_t count = std::min(teams, call_.points - first);
    const auto each_point = [&](const std::function<void(std::int64_t number)>& visit) {
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t number = first + thread_at(call_.order, i, count);
        run_.visit_outer(schedule_.axes, number, [&] { visit(number); });
      }
    };
    each_point([&](std::int64_t number) { run_part(number, part); });
    std::uint32_t& arrival = call_.arrivals[first / teams];
    if (arrival++ != static_cast<std::uint32_t>(parts_ - 1)) continue;
    arrival = 0;
    each_point([&](std::int64_t number) { finish(number); });
  }
}

void SplitRun::run_part(std::int64_t number, std::int64_t part) {
  const std::int64_t begin = part * call_.part_points;
  const std::int64_t end = std::min(begin + call_.part_points, run_.inner_points());
  for (const StageId s : kernel_.stages.ids()) {
    if (!kernel_.stages[s].inner) continue;
    const TeamRun::Result result = team_.run_stage(s, begin, end);
    if (kernel_.stages[s].kind == StageKind::Reduce) write(s, number, part, result);
  }
}

void SplitRun::finish(std::int64_t number) {
  for (const StageId s : kernel_.stages.ids()) {
    if (kernel_.stages[s].kind != StageKind::Reduce) continue;
    std::vector<TeamRun::Result> parts;
    for (std::int64_t part = 0; part < parts_; ++part) parts.push_back(read(s, number, part));
    team_.set_result(s, team_.combine_parts(s, parts));
  }
  for (const StageId s : kernel_.stages.ids()) {
    if (!kernel_.stages[s].inner) team_.run_stage_once(s);
  }
}

std::byte* SplitRun::partial(StageId stage, std::int64_t number, std::int64_t part) const {
  const bool is_rows = schedule_.form == GridForm::Rows;
  const std::int64_t slot = is_rows ? number * parts_ + part : part * call_.points + number;
  return call_.partials + partial_slots(call_.points, parts_) * partial_offset(kernel_, stage) +
         slot * partial_width(kernel_, kernel_.stages[stage]);
}

TeamRun::Result SplitRun::read(StageId stage, std::int64_t number, std::int64_t part) const {
  const std::byte* from = partial(stage, number, part);
  TeamRun::Result result;
  std::memcpy(&result.bits, from, value_bytes(kernel_, stage));
  if (kernel_.stages[stage].combiner == Combiner::ArgMax) {
    std::memcpy(&result.index, from + kIndexOffset, sizeof(result.index));
  }
  return result;
}

void SplitRun::write(StageId stage, std::int64_t number, std::int64_t part,
                     const TeamRun::Result& result) const {
  std::byte* to = partial(stage, number, part);
  std::memcpy(to, &result.bits, value_bytes(kernel_, stage));
  if (kernel_.stages[stage].combiner == Combiner::ArgMax) {
    std::memcpy(to + kIndexOffset, &result.index, sizeof(result.index));
  }
}

}  // namespace kiln::test
