// An inclusive scan by butterfly shuffles: at each distance, the upper
// half of a group of lanes adds the total of the lower half, and all
// lanes of the group get the total of both halves (`all`).
#include "backends/codegen/text/running_text.h"

#include "backends/codegen/kernel/needed.h"
#include "backends/codegen/text/scalar_text.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

class RunningText {
 public:
  RunningText(const Kernel& kernel, const GridSchedule& schedule, StageId id, PointText& point,
              TextLines& lines, const std::function<void()>& begin_point)
      : kernel_(kernel),
        stage_(kernel.stages[id]),
        number_(id.number),
        point_(point),
        lines_(lines),
        begin_point_(begin_point),
        type_(accumulator_text(kernel, stage_)),
        start_(start_text(kernel, stage_)),
        width_(std::min(lanes_of(schedule), kWarpLanes)),
        warps_(lanes_of(schedule) / width_) {}

  void write() {
    lines_.line(text(type_, " ", carry(), " = ", start_, ";"));
    const std::int64_t chunk = kRunningTurns * width_ * warps_;
    lines_.open(text("for (s64 chunk = 0; chunk < inner; chunk += ", chunk, ")"));
    lines_.line(text(type_, " runs[", kRunningTurns, "], total = ", start_, ";"));
    open_turns();
    scan_turn();
    lines_.close();
    warps_ > 1 ? add_warps() : add_warp();
    open_turns();
    finish_turn();
    lines_.close();
    lines_.close();
  }

 private:
  std::string carry() const { return text("carry", number_); }
  std::string combined(const std::string& a, const std::string& b) const {
    return combined_text(kernel_, stage_, a, b);
  }

  void open_turns() {
    lines_.line("#pragma unroll");
    lines_.open(text("for (int k = 0; k < ", kRunningTurns, "; ++k)"));
    lines_.line(text("const s64 p = chunk + (lane / ", width_, " * ", kRunningTurns, " + k) * ",
                     width_, " + lane % ", width_, ";"));
  }

  void open_point() {
    lines_.open("if (live && p < inner)");
    point_.begin();
    begin_point_();
  }

  void scan_turn() {
    lines_.line(text(type_, " own = ", start_, ";"));
    open_point();
    point_.evaluate({stage_.value});
    lines_.line(text("own = ", point_.flushed(stage_.value), ";"));
    lines_.close();
    lines_.line(text(type_, " all = own;"));
    for (int distance = 1; distance < width_; distance *= 2) {
      lines_.open("");
      lines_.line(text("const ", type_, " other = exchanged(all, ", distance, ");"));
      lines_.line(text("if (lane & ", distance, ") own = ", combined("other", "own"), ";"));
      lines_.line(text("all = lane & ", distance, " ? ", combined("other", "all"), " : ",
                       combined("all", "other"), ";"));
      lines_.close();
    }
    lines_.line(text("runs[k] = ", combined("total", "own"), ";"));
    lines_.line(text("total = ", combined("total", "all"), ";"));
  }

  void add_warp() {
    lines_.line(text("const ", type_, " before = ", carry(), ";"));
    lines_.line(text(carry(), " = ", combined(carry(), "total"), ";"));
  }

  /// Combines the totals of warps through shared memory. REQUIRES: the team is the whole block.
  void add_warps() {
    const std::string shared = text(kernel_.name, "_shared", number_);
    lines_.line(text("if (lane % ", width_, " == 0) ", shared, "[lane / ", width_, "] = total;"));
    lines_.line("__syncthreads();");
    lines_.line(text(type_, " before = ", carry(), ";"));
    lines_.open(text("for (int i = 0; i < ", warps_, "; ++i)"));
    lines_.line(text("if (i == lane / ", width_, ") before = ", carry(), ";"));
    lines_.line(text(carry(), " = ", combined(carry(), text(shared, "[i]")), ";"));
    lines_.close();
    lines_.line("__syncthreads();");
  }

  void finish_turn() {
    open_point();
    lines_.line(text("const ", type_, " r", number_, " = ", combined("before", "runs[k]"), ";"));
    Stage stores = stage_;
    stores.value = {};
    point_.evaluate(roots_of(kernel_, stores));
    for (const Store& store : stage_.stores) point_.write_store(store);
    lines_.close();
  }

  const Kernel& kernel_;
  const Stage& stage_;
  const int number_;
  PointText& point_;
  TextLines& lines_;
  const std::function<void()>& begin_point_;
  const std::string type_, start_;
  const int width_, warps_;  // lanes of a warp of the team; number of warps
};

}  // namespace

void write_running(const Kernel& kernel, const GridSchedule& schedule, StageId stage,
                   PointText& point, TextLines& lines, const std::function<void()>& begin_point) {
  RunningText(kernel, schedule, stage, point, lines, begin_point).write();
}

}  // namespace kiln::codegen
