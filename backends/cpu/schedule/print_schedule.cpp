// Prints a schedule as one line, with the names of the kernel's text: b operands, a accesses, i
// axes, v expressions.
#include "backends/cpu/schedule/cpu_schedule.h"

#include "core/types/text.h"

namespace kiln::cpu {
namespace {

class Printer {
 public:
  explicit Printer(const CpuSchedule& schedule) : schedule_(schedule) {}

  std::string run(const codegen::Kernel& kernel) {
    add(lanes(kernel.vector_axis));
    if (schedule_.groups.size() > 1) add(groups());
    if (schedule_.is_compact) add("one vector in loops of maps");
    if (schedule_.tiles.axis >= 0) add(tiles());
    if (schedule_.streams.any()) add(streams());
    if (schedule_.sum_parts.axis >= 0) {
      add(text("sums in parts of ", schedule_.sum_parts.length, " along i",
               schedule_.sum_parts.axis));
    }
    add_prefetches();
    add_checked_rows();
    add_forms();
    return std::move(line_);
  }

 private:
  void add(const std::string& part) { line_ += line_.empty() ? part : "; " + part; }

  std::string lanes(int axis) const {
    if (schedule_.lanes == 1) return "scalar";
    std::string out = text(schedule_.lanes, " lanes along i", axis);
    const RowBlocks& blocks = schedule_.row_blocks;
    if (blocks.any()) {
      out = text(schedule_.lanes, " lanes along i", axis - blocks.axes, " to i", axis,
                 ", blocks of ", blocks.rows, " rows in ", blocks.vectors,
                 blocks.vectors == 1 ? " vector" : " vectors");
    }
    if (schedule_.vectors() > 1) out += text(" in ", schedule_.vectors(), " vectors");
    return out;
  }

  std::string groups() const {
    std::string out = "loops of stages";
    for (const StageGroup& group : schedule_.groups) {
      out += text(&group == schedule_.groups.data() ? " " : ", ", group.first.number);
      const int last = group.last.number - 1;
      if (last > group.first.number) out += text("-", last);
    }
    return out;
  }

  std::string tiles() const {
    const TileSchedule& tiles = schedule_.tiles;
    std::string out = text("blocks of ", tiles.rows, " rows along i", tiles.axis);
    bool has_tiles = false;
    for (const AccessId i : tiles.tiled.ids()) {
      if (!tiles.tiled[i]) continue;
      out += text(has_tiles ? " a" : " with tiles of a", i.number);
      has_tiles = true;
    }
    return out;
  }

  std::string streams() const {
    const StreamSchedule& streams = schedule_.streams;
    std::string out = "stream";
    for (const OperandId i : streams.operands.ids()) {
      if (streams.operands[i]) out += text(" b", i.number);
    }
    if (streams.scratch_operand) out += " from a scratch row";
    if (streams.alone) out += " in calls by one thread";
    return out;
  }

  void add_prefetches() {
    for (const OperandId i : schedule_.prefetches.ids()) {
      const PrefetchSite& site = schedule_.prefetches[i];
      if (!site.access) continue;
      const std::string distance =
          site.bytes_ahead == 0 ? "a row" : text(site.bytes_ahead, " bytes");
      const std::string loops = site.group ? text(" of stage ", site.group.number) : "";
      add(text("prefetch b", i.number, " at a", site.access.number, loops, ", ", distance,
               " ahead"));
    }
    for (const GatherPrefetch& one : schedule_.gather_prefetches) {
      add(text("prefetch ", one.bytes, " bytes of later rows of a", one.access.number, " along i",
               one.axis));
    }
  }

  void add_checked_rows() {
    for (const AccessId i : schedule_.checked_rows.ids()) {
      const int level = schedule_.checked_rows[i];
      if (level < 0) continue;
      add(text("check rows of a", i.number, level == 0 ? " before all loops" : " once along i",
               level == 0 ? "" : text(level - 1)));
    }
  }

  void add_forms() {
    const auto list = [&](ShortForm form, const char* name) {
      std::string out;
      for (const ExpressionId i : schedule_.short_forms.ids()) {
        if (schedule_.short_forms[i] == form) out += text(out.empty() ? name : "", " v", i.number);
      }
      if (!out.empty()) add(out);
    };
    list(ShortForm::ExpOfNonpositive, "exp of nonpositive");
    list(ShortForm::DivideByInvariant, "divide by an invariant");
    for (const ShareDivision& one : schedule_.share_divisions) {
      add(text("v", one.expression.number, " of stage ", one.group.number, " divides a share"));
    }
    for (const StageId s : schedule_.minmax_forms.ids()) {
      const MinMaxForm form = schedule_.minmax_forms[s];
      if (form == MinMaxForm::DropsNan) add(text("stage ", s.number, " drops NaN"));
      if (form == MinMaxForm::KeepsSigns) add(text("stage ", s.number, " keeps signs"));
    }
  }

  const CpuSchedule& schedule_;
  std::string line_;
};

}  // namespace

std::string print(const codegen::Kernel& kernel, const CpuSchedule& schedule) {
  return Printer(schedule).run(kernel);
}

}  // namespace kiln::cpu
