// Memory order: every thread executes a fence (seq_cst, device scope) after its stores of partial
// results and before the block's atomic increment, and another one after the increment and before
// its loads. The block that reads the count parts - 1 therefore sees the partial results of all
// blocks. It resets the counter for the next launch, which begins after all blocks of this one end.
#include "backends/codegen/text/split_text.h"

#include "backends/codegen/grid/split_rows.h"
#include "core/types/text.h"

namespace kiln::codegen {

SplitText::SplitText(const Kernel& kernel, const GridSchedule& schedule, TextLines& lines)
    : kernel_(kernel), schedule_(schedule), lines_(lines) {}

std::string SplitText::parameters() const {
  if (!schedule_.split_k) return "";
  return "const s64 part_points, u8* const partials, u32* const arrivals, ";
}

std::string SplitText::shared() const {
  return schedule_.split_k ? text("static __shared__ u32 ", arrived(), ";\n") : "";
}

void SplitText::declare_part() {
  if (!schedule_.split_k) return;
  lines_.line("const s64 parts = inner > part_points ? (inner - 1) / part_points + 1 : 1;");
  lines_.line("const s64 part = block % parts, begin = part * part_points;");
  lines_.line("const s64 end = inner - begin > part_points ? begin + part_points : inner;");
}

std::string SplitText::slot(const std::string& part) const {
  const bool is_rows = schedule_.form == GridForm::Rows;
  return is_rows ? text("[number * parts + ", part, "]") : text("[", part, " * points + number]");
}

void SplitText::exchange(ReductionText& reductions) {
  if (!schedule_.split_k) return;
  lines_.open("if (parts > 1)");
  lines_.line("const s64 slots = (points * parts + 15) / 16 * 16;");
  for (const StageId s : kernel_.stages.ids()) {
    if (!reductions.is_reduction(s)) continue;
    const std::string type = accumulator_text(kernel_, kernel_.stages[s]);
    lines_.line(text(type, "* const partials", s.number, " = (", type, "*)(partials + slots * ",
                     partial_offset(kernel_, s), ");"));
    lines_.line(
        text("if (live && lane == 0) partials", s.number, slot("part"), " = all", s.number, ";"));
  }
  arrive();
  for (const StageId s : kernel_.stages.ids()) {
    if (reductions.is_reduction(s)) combine_parts(s, reductions);
  }
  lines_.close();
}

void SplitText::arrive() {
  lines_.line("__threadfence();");
  lines_.line("__syncthreads();");
  lines_.line(text("u32* const arrival = arrivals + first / ", schedule_.teams, ";"));
  lines_.line(text("if (threadIdx.x == 0) ", arrived(), " = atomicAdd(arrival, 1u);"));
  lines_.line("__syncthreads();");
  lines_.line(text("if (", arrived(), " != parts - 1) continue;"));
  lines_.line("if (threadIdx.x == 0) *arrival = 0;");
  lines_.line("__threadfence();");
}

void SplitText::combine_parts(StageId stage, ReductionText& reductions) {
  const Stage& one = kernel_.stages[stage];
  const std::string all = text("all", stage.number);
  lines_.line(text(all, " = ", start_text(kernel_, one), ";"));
  lines_.line("#pragma unroll 4");
  lines_.open(text("for (s64 i = lane; i < parts; i += ", lanes_of(schedule_), ")"));
  const std::string partial = text("partials", stage.number, slot("i"));
  lines_.line(text(all, " = ", combined_text(kernel_, one, all, partial), ";"));
  lines_.close();
  reductions.combine_lanes(stage);
}

}  // namespace kiln::codegen
