// Loads all unrolled groups before computing the first one: compilers do not hoist loads above
// stores that may alias.
#include "backends/codegen/text/vector_text.h"

#include "backends/codegen/kernel/needed.h"
#include "backends/codegen/text/digits_text.h"
#include "backends/codegen/text/scalar_text.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

bool has_dynamic_access(const Kernel& kernel) {
  const std::vector<AccessId> used = used_accesses(kernel);
  return std::any_of(used.begin(), used.end(),
                     [&](AccessId access) { return bool(kernel.accesses[access].dynamic); });
}

}  // namespace

const char* vector_functions() {
  return R"(
namespace {
// Neighbours in memory, aligned as a whole.
template <class T, int kCount> struct alignas(sizeof(T) * kCount) Vector {
  T at[kCount];
};
template <class V, class T> V load_vector(const u8* from, s64 i) {
  V x;
  const void* first = __builtin_assume_aligned(from + i * s64(sizeof(T)), sizeof(V));
  KILN_BUILTIN(memcpy)(&x, first, sizeof(V));
  return x;
}
template <class V, class T> void store_vector(u8* to, s64 i, const V& x) {
  void* first = __builtin_assume_aligned(to + i * s64(sizeof(T)), sizeof(V));
  KILN_BUILTIN(memcpy)(first, &x, sizeof(V));
}
}  // namespace
)";
}

VectorText::VectorText(const Kernel& kernel, const GridSchedule& schedule, TextLines& lines)
    : kernel_(kernel),
      schedule_(schedule),
      lines_(lines),
      point_(kernel, lines),
      found_(vector_accesses(kernel, schedule.elements)),
      turns_(kernel, schedule.elements, found_.is_vector, lines),
      checks_indices_(has_dynamic_access(kernel)) {}

// ---- alignment ----

std::string VectorText::condition() const {
  std::vector<std::string> rests;
  const auto add = [&](const std::string& value, std::int64_t whole) {
    const std::string rest = text(value, " % ", whole);
    if (std::find(rests.begin(), rests.end(), rest) == rests.end()) rests.push_back(rest);
  };
  const auto add_size = [&](const ir::Dim& dim) {
    if (!dim.is_static()) add(text("u64(", point_.size(dim), ")"), schedule_.elements);
  };
  for (const AccessId id : used_accesses(kernel_)) {
    if (!is_vector(id)) continue;
    const Access& access = kernel_.accesses[id];
    const DType dtype = kernel_.operands[access.operand].dtype;
    const auto bytes = static_cast<std::int64_t>(dtype_bytes(dtype)) * schedule_.elements;
    add(text("u64(b", access.operand.number, ")"), bytes);
    add_size(access.offset);
    for (std::size_t axis = 0; axis + 1 < access.strides.size(); ++axis) {
      add_size(access.strides[axis]);
    }
    add_size(access.dynamic_stride);
  }
  if (!rests.empty() && kernel_.axes.size() > 1) add_size(kernel_.axes.back());
  std::string all;
  for (const std::string& rest : rests) all += (all.empty() ? "" : " | ") + rest;
  return all.empty() ? "" : text("(", all, ") == 0");
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
  const DType dtype = point_.dtype_of(store.value);
  const std::string allowed = point_.condition(store.access);
  lines_.open(allowed.empty() ? "" : text("if (", allowed, ")"));
  if (store.accumulate) {
    lines_.line(text("const ", turns_.vector_type(dtype),
                     " old = ", turns_.vector_load(store.access, point_), ";"));
  }
  lines_.line(text(turns_.vector_type(dtype), " packed;"));
  lines_.line("#pragma unroll");
  lines_.open(text("for (int e = 0; e < ", schedule_.elements, "; ++e)"));
  std::string value = text("y", number, "[e]");
  if (store.accumulate) {
    const std::string old = value_of(dtype, "old.at[e]");
    value = apply_text(
        ir::Op::Add, dtype, dtype,
        {operand_text(ir::Op::Add, dtype, old), operand_text(ir::Op::Add, dtype, value)});
  }
  lines_.line(text("packed.at[e] = ", stored_of(dtype, value), ";"));
  lines_.close();
  lines_.line(text("store_vector<", turns_.vector_type(dtype), ", ", stored_type(dtype), ">(",
                   point_.element(store.access), ", packed);"));
  lines_.close();
}

}  // namespace kiln::codegen
