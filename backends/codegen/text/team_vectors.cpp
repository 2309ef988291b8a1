// The turns of TeamLoop that have several points. Aligned and unaligned vectors differ only in
// their loads and stores: values and the order of additions are the same.
#include "backends/codegen/grid/vector_access.h"
#include "backends/codegen/text/scalar_text.h"
#include "backends/codegen/text/team_loop.h"
#include "core/types/text.h"

namespace kiln::codegen {

void TeamLoop::declare_alignment() {
  if (elements_ == 1) return;
  std::vector<std::string> remainders;
  for (const AccessId id : used_accesses(kernel_)) {
    if (turns_.is_vector(id)) memory_.add_remainders(id, point_, remainders);
  }
  lines_.line(text("const bool is_aligned = ", are_zero(remainders), ";"));
}

std::string TeamLoop::vector_condition(const Turns& turns) const {
  const std::string is_whole = text(" && base + ", elements_, " <= ", turns.end);
  return text("if (is_aligned", turns.may_end_within ? is_whole : "", ")");
}

void TeamLoop::declare_base() {
  lines_.line(text("const s64 i", kernel_.axes.size() - 1, " = base;"));
}

void TeamLoop::open_elements(const Turns& turns) {
  lines_.line("#pragma unroll");
  lines_.open(text("for (int e = 0; e < ", elements_, "; ++e)"));
  if (turns.may_end_within) lines_.line(text("if (base + e >= ", turns.end, ") break;"));
}

void TeamLoop::load_vectors(const Turns& turns) {
  declare_base();
  lines_.open(vector_condition(turns));
  for (const StageLoads& early : early_) {
    for (const ExpressionId load : early.loads) turns_.load(load, point_);
    for (const std::size_t sum : early.sums) {
      const AccessId access = kernel_.stages[early.stage].stores[sum].access;
      lines_.line(
          text(old_name(early.stage, sum), "[turn] = ", memory_.guarded_load(access, point_), ";"));
    }
  }
  lines_.close();
  lines_.open("else");
  open_elements(turns);
  for (const StageLoads& early : early_) {
    for (const ExpressionId load : early.loads) turns_.load_element(load, point_);
    for (const std::size_t sum : early.sums) {
      const AccessId access = kernel_.stages[early.stage].stores[sum].access;
      lines_.line(text(old_name(early.stage, sum),
                       "[turn].at[e] = ", memory_.guarded_element(access, point_), ";"));
    }
  }
  lines_.close();
  lines_.close();
}

void TeamLoop::compute_vectors(const Turns& turns) {
  for (const StageLoads& early : early_) {
    const std::vector<Store>& stores = kernel_.stages[early.stage].stores;
    for (std::size_t i = 0; i < stores.size(); ++i) {
      if (is_held(stores[i])) continue;
      lines_.line(text(type_text(point_.dtype_of(stores[i].value)), " ",
                       stored_name(early.stage, i), "[", elements_, "];"));
    }
  }
  open_elements(turns);
  compute_element(point_);
  lines_.close();
  declare_base();
  for (const StageLoads& early : early_) store_vectors(early, turns);
}

void TeamLoop::compute_element(PointText element) {
  lines_.line(text("const int k = group * ", elements_, " + e;"));
  lines_.line("const s64 p = base + e;");
  begin_point(early_.front().stage);
  for (const StageLoads& early : early_) {
    turns_.use_elements(early.loads, element);
    for (const ExpressionId load : early.loads) keep(load);
  }
  for (const StageLoads& early : early_) compute_stage(early, element);
  note_known(element);
}

void TeamLoop::store_vectors(const StageLoads& early, const Turns& turns) {
  const std::vector<Store>& stores = kernel_.stages[early.stage].stores;
  for (std::size_t i = 0; i < stores.size(); ++i) {
    if (is_held(stores[i])) continue;
    const AccessId access = stores[i].access;
    const std::string allowed = point_.condition(access);
    lines_.open(allowed.empty() ? "" : text("if (", allowed, ")"));
    memory_.pack(stores[i], stored_name(early.stage, i), old_name(early.stage, i) + "[turn]",
                 lines_);
    lines_.open(vector_condition(turns));
    lines_.line(memory_.store(access, "packed", point_));
    lines_.close();
    lines_.open("else");
    open_elements(turns);
    lines_.line(memory_.store_element(access, "packed", point_));
    lines_.close();
    lines_.close();
    lines_.close();
  }
}

}  // namespace kiln::codegen
