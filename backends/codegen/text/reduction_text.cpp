// Emits the reduction trees that GridSchedule defines.
#include "backends/codegen/text/reduction_text.h"

#include "backends/codegen/text/scalar_text.h"
#include "core/types/at.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

DType dtype_of(const Kernel& kernel, const Stage& stage) {
  return kernel.expressions[stage.value].dtype;
}

}  // namespace

std::string accumulator_text(const Kernel& kernel, const Stage& stage) {
  const std::string type = type_text(dtype_of(kernel, stage));
  return stage.combiner == Combiner::ArgMax ? text("Best<", type, ">") : type;
}

std::string start_text(const Kernel& kernel, const Stage& stage) {
  const DType dtype = dtype_of(kernel, stage);
  const bool is_pair = stage.combiner == Combiner::ArgMax;
  return is_pair ? "{{}, -1}" : constant_text(dtype, identity_bits(stage.combiner, dtype));
}

std::string combined_text(const Kernel& kernel, const Stage& stage, const std::string& a,
                          const std::string& b) {
  if (stage.combiner == Combiner::ArgMax) return text("best_of(", a, ", ", b, ")");
  static constexpr ir::Op kOps[] = {ir::Op::Identity, ir::Op::Add, ir::Op::Mul, ir::Op::Maximum,
                                    ir::Op::Minimum};
  const DType dtype = dtype_of(kernel, stage);
  return apply_text(kOps[static_cast<int>(stage.combiner)], dtype, dtype, {a, b});
}

ReductionText::ReductionText(const Kernel& kernel, const GridSchedule& schedule, TextLines& lines)
    : kernel_(kernel),
      schedule_(schedule),
      lines_(lines),
      lanes_(lanes_of(schedule)),
      accumulators_(accumulators_of(kernel, schedule)) {}

std::string ReductionText::shared() const {
  std::string out;
  const int elements = shared_elements(schedule_);
  for (const StageId s : kernel_.stages.ids()) {
    if (elements == 0 || stage_of(s).kind == StageKind::Map) continue;
    out += text("static __shared__ ", accumulator(s), " ", kernel_.name, "_shared", s.number, "[",
                elements, "];\n");
  }
  return out;
}

const Stage& ReductionText::stage_of(StageId stage) const { return kernel_.stages[stage]; }

bool ReductionText::is_reduction(StageId stage) const {
  return stage_of(stage).kind == StageKind::Reduce;
}

bool ReductionText::has_chains(StageId stage) const {
  return codegen::has_chains(kernel_, schedule_, stage_of(stage));
}

std::string ReductionText::accumulator(StageId stage) const {
  return accumulator_text(kernel_, stage_of(stage));
}

std::string ReductionText::combined(StageId stage, const std::string& a,
                                    const std::string& b) const {
  return combined_text(kernel_, stage_of(stage), a, b);
}

void ReductionText::declare_accumulators(StageId stage) {
  const std::vector<std::string> starts(at(accumulators_), start_text(kernel_, stage_of(stage)));
  const auto declare = [&](const char* name) {
    lines_.line(text(accumulator(stage), " ", name, stage.number, "[", accumulators_, "] = {",
                     join_text(starts), "};"));
  };
  declare("parts");
  if (has_chains(stage)) declare("sums");
}

void ReductionText::end_chains(StageId stage) {
  for (int k = 0; k < accumulators_; ++k) {
    const std::string part = text("parts", stage.number, "[", k, "]"),
                      sum = text("sums", stage.number, "[", k, "]");
    lines_.line(text(sum, " = ", combined(stage, sum, part), ";"));
    lines_.line(text(part, " = ", start_text(kernel_, stage_of(stage)), ";"));
  }
}

void ReductionText::combine_accumulators(StageId stage) {
  const std::string all = text("all", stage.number),
                    from = text(has_chains(stage) ? "sums" : "parts", stage.number);
  lines_.line(text(accumulator(stage), " ", all, " = ", from, "[0];"));
  for (int k = 1; k < accumulators_; ++k) {
    lines_.line(text(all, " = ", combined(stage, all, text(from, "[", k, "]")), ";"));
  }
}

void ReductionText::combine_lanes(StageId stage) {
  const std::string all = text("all", stage.number);
  if (schedule_.form == GridForm::Rows) {
    for (int distance = std::min(lanes_, kWarpLanes) / 2; distance > 0; distance /= 2) {
      const std::string other = text("exchanged(", all, ", ", distance, ")");
      lines_.line(text(all, " = ", combined(stage, all, other), ";"));
    }
  }
  if (shared_elements(schedule_) > 0) combine_shared(stage);
}

void ReductionText::combine_shared(StageId stage) {
  const std::string all = text("all", stage.number);
  const std::string shared = text(kernel_.name, "_shared", stage.number);
  const bool is_rows = schedule_.form == GridForm::Rows;
  const int parts = is_rows ? lanes_ / kWarpLanes : lanes_;
  const auto element = [&](const std::string& part) {
    return is_rows ? text(shared, "[team * ", parts, " + ", part, "]")
                   : text(shared, "[", part, " * ", schedule_.teams, " + team]");
  };
  const std::string condition = is_rows ? text("if (lane % ", kWarpLanes, " == 0) ") : "";
  const std::string own = is_rows ? text("lane / ", kWarpLanes) : "lane";
  lines_.line(text(condition, element(own), " = ", all, ";"));
  lines_.line("__syncthreads();");
  lines_.line(text(all, " = ", element("0"), ";"));
  lines_.open(text("for (int i = 1; i < ", parts, "; ++i)"));
  lines_.line(text(all, " = ", combined(stage, all, element("i")), ";"));
  lines_.close();
}

void ReductionText::declare_result(StageId stage) {
  const std::string all = text("all", stage.number);
  const bool is_pair = stage_of(stage).combiner == Combiner::ArgMax;
  const std::string type = is_pair ? "s64" : accumulator(stage);
  const std::string value = is_pair ? text(all, ".index < 0 ? 0 : ", all, ".index") : all;
  lines_.line(text("const ", type, " r", stage.number, " = ", value, ";"));
}

}  // namespace kiln::codegen
