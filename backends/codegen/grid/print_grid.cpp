// Schedules as one line: form, blocks, axes, teams, then what lanes share.
#include "backends/codegen/grid/grid_schedule.h"

#include "core/types/text.h"

namespace kiln::codegen {
namespace {

constexpr const char* kForms[] = {"points", "serial", "rows", "columns"};

std::string list(const char* name, const char* prefix, const std::vector<int>& numbers) {
  std::string out = numbers.empty() ? "" : name;
  for (const int number : numbers) out += text(" ", prefix, number);
  return out;
}

}  // namespace

std::string print(const GridSchedule& schedule) {
  std::string out = text(kForms[static_cast<int>(schedule.form)], ": blocks of ", schedule.threads,
                         " threads over");
  for (const int axis : schedule.axes) out += text(" i", axis);
  if (schedule.axes.empty()) out += " one point";
  if (has_teams(schedule)) out += text(", ", schedule.teams, " teams");
  if (schedule.split) out += ", split";
  out += list(", keep", "v", schedule.kept);
  out += list(", barriers before", "stage ", schedule.barrier_before);
  return schedule.reason.empty() ? out : out + "; " + schedule.reason;
}

}  // namespace kiln::codegen
