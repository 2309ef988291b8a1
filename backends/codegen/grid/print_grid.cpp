// Prints a schedule as one line: form, blocks, axes, teams or vectors, kept values and barriers.
#include "backends/codegen/grid/grid_schedule.h"

#include "core/types/text.h"

namespace kiln::codegen {
namespace {

constexpr const char* kForms[] = {"points", "serial", "rows", "columns", "owners", "tile"};

template <class Thing>
std::string list(const char* name, const char* prefix, const std::vector<Id<Thing>>& ids) {
  std::string out = ids.empty() ? "" : name;
  for (const Id<Thing> id : ids) out += text(" ", prefix, id.number);
  return out;
}

}  // namespace

std::string print(const GridSchedule& schedule) {
  std::string out = text(kForms[static_cast<int>(schedule.form)], ": blocks of ", schedule.threads,
                         " threads over");
  for (const int axis : schedule.axes) out += text(" i", axis);
  if (schedule.axes.empty()) out += " one point";
  if (has_blocks(schedule)) out += text(", ", schedule.teams, " teams");
  if (schedule.form == GridForm::Tile) out += text(", rows along i", schedule.tile_axis);
  if (schedule.elements > 1) out += text(", vectors of ", schedule.elements);
  if (schedule.unroll > 1) out += text(", unroll ", schedule.unroll);
  if (schedule.split_k) out += ", split";
  if (schedule.batch > 1) out += text(", up to ", schedule.batch, " launches at a time");
  out += list(", keep", "v", schedule.kept);
  out += list(", hold", "operand ", schedule.held);
  out += list(", barriers before", "stage ", schedule.barrier_before);
  return schedule.reason.empty() ? out : out + "; " + schedule.reason;
}

}  // namespace kiln::codegen
