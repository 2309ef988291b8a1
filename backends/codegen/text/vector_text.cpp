// Loads all unrolled groups before computing the first one: compilers do not hoist loads above
// stores that may alias.
#include "backends/codegen/text/vector_text.h"

#include "backends/codegen/kernel/needed.h"
#include "backends/codegen/text/digits_text.h"
#include "backends/codegen/text/scalar_text.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {

VectorText::VectorText(const Kernel& kernel, const GridSchedule& schedule, TextLines& lines)
    : kernel_(kernel),
      schedule_(schedule),
      lines_(lines),
      point_(kernel, lines),
      found_(vector_accesses(kernel, schedule.elements)),
      memory_(kernel, schedule.elements),
      turns_(kernel, memory_, found_.is_vector, lines),
      checks_indices_(has_dynamic_access(kernel)) {}

// ---- alignment ----

std::string VectorText::condition() const {
  std::vector<std::string> remainders;
  for (const AccessId id : used_accesses(kernel_)) {
    if (is_vector(id)) memory_.add_remainders(id, point_, remainders);
  }
  if (!remainders.empty() && kernel_.axes.size() > 1) {
    memory_.add_remainder(kernel_.axes.back(), point_, remainders);
  }
  return are_zero(remainders);
}

// ---- groups ----

void VectorText::write() {
  lines_.line(text("const s64 groups = points / ", schedule_.elements, ";"));
  const std::string step = schedule_.unroll == 1 ? "stride" : text("stride * ", schedule_.unroll);
  const char* name = schedule_.unroll == 1 ? "group" : "first";
  lines_.open(text("for (s64 ", name, " = thread; ", name, " < groups; ", name, " += ", step, ")"));
  for (const Stage& stage : kernel_.stages) write_stage(stage);
  lines_.close();
}

void VectorText::write_stage(const Stage& stage) {
  if (schedule_.unroll > 1) return write_unrolled(stage);
  lines_.open("");
  point_.begin();
  open_group();
  load(stage);
  compute(stage);
  lines_.close();
}

void VectorText::write_unrolled(const Stage& stage) {
  lines_.open("");
  const std::vector<ExpressionId> early = early_loads(stage);
  turns_.declare(early, schedule_.unroll);
  open_turn();
  load(stage);
  lines_.close();
  open_turn();
  turns_.use(early, point_);
  compute(stage);
  lines_.close();
  lines_.close();
}

void VectorText::open_turn() {
  lines_.line("#pragma unroll");
  lines_.open(text("for (int turn = 0; turn < ", schedule_.unroll, "; ++turn)"));
  lines_.line("const s64 group = first + turn * stride;");
  lines_.line("if (turn > 0 && group >= groups) break;");
  point_.begin();
  open_group();
}

/// Declares the indices of the first point of the group.
void VectorText::open_group() {
  const bool is_point = schedule_.elements == 1;
  write_digits(kernel_, schedule_.axes, is_point ? "group" : text("group * ", schedule_.elements),
               lines_);
  declare_out_of_range();
}

void VectorText::declare_out_of_range() {
  if (!checks_indices_) return;
  lines_.line(text("const s64 point = ", outer_number(kernel_), ";"));
  lines_.line(out_of_range_lambda());
}

std::vector<ExpressionId> VectorText::early_loads(const Stage& stage) const {
  const ExpressionFlags wanted = needed(kernel_, roots_of(kernel_, stage));
  std::vector<ExpressionId> loads;
  for (const ExpressionId i : wanted.ids()) {
    const Expression& e = kernel_.expressions[i];
    if (!wanted[i] || e.kind != ExpressionKind::Load) continue;
    if (is_vector(e.access) || found_.is_uniform[i]) loads.push_back(i);
  }
  return loads;
}

void VectorText::load(const Stage& stage) {
  for (const ExpressionId load : early_loads(stage)) {
    const Access& access = kernel_.accesses[kernel_.expressions[load].access];
    point_.evaluate({access.dynamic, access.when});
    turns_.load(load, point_);
  }
}

void VectorText::compute(const Stage& stage) {
  ExpressionFlags wanted = needed(kernel_, roots_of(kernel_, stage));
  for (const ExpressionId i : wanted.ids()) wanted[i] = wanted[i] && found_.is_uniform[i];
  point_.declare(wanted);
  if (schedule_.elements == 1) {
    for (const Store& store : stage.stores) point_.write_store(store);
    return;
  }
  for (std::size_t i = 0; i < stage.stores.size(); ++i) {
    const Store& store = stage.stores[i];
    if (!is_vector(store.access)) continue;
    lines_.line(
        text(type_text(point_.dtype_of(store.value)), " y", i, "[", schedule_.elements, "];"));
  }
  write_elements(stage);
  for (std::size_t i = 0; i < stage.stores.size(); ++i) {
    if (is_vector(stage.stores[i].access)) write_vector(i, stage.stores[i]);
  }
}

void VectorText::write_elements(const Stage& stage) {
  PointText element = point_;  // the scope of the loop
  const std::size_t last = kernel_.axes.size() - 1;
  lines_.line(text("const s64 base = i", last, ";"));
  lines_.line("#pragma unroll");
  lines_.open(text("for (int e = 0; e < ", schedule_.elements, "; ++e)"));
  lines_.line(text("const s64 i", last, " = base + e;"));
  declare_out_of_range();
  turns_.use_elements(early_loads(stage), element);
  element.evaluate(roots_of(kernel_, stage));
  for (std::size_t i = 0; i < stage.stores.size(); ++i) {
    const Store& store = stage.stores[i];
    if (is_vector(store.access)) {
      lines_.line(text("y", i, "[e] = v", store.value.number, ";"));
    } else {
      element.write_store(store);
    }
  }
  lines_.close();
}

void VectorText::write_vector(std::size_t number, const Store& store) {
  const std::string allowed = point_.condition(store.access);
  lines_.open(allowed.empty() ? "" : text("if (", allowed, ")"));
  if (store.accumulate) {
    const std::string type = memory_.type(point_.dtype_of(store.value));
    lines_.line(text("const ", type, " old = ", memory_.load(store.access, point_), ";"));
  }
  memory_.pack(store, text("y", number), "old", lines_);
  lines_.line(memory_.store(store.access, "packed", point_));
  lines_.close();
}

}  // namespace kiln::codegen
