// Scalars are converted from the format of memory when they are loaded, vectors element by element
// when they are used.
#include "backends/codegen/text/turn_loads.h"

#include "backends/codegen/text/scalar_text.h"
#include "core/types/text.h"

namespace kiln::codegen {

std::string TurnLoads::name(ExpressionId load) const {
  return text("x", load.number, has_arrays_ ? "[turn]" : "");
}

void TurnLoads::declare(const std::vector<ExpressionId>& loads, std::int64_t turns) {
  has_arrays_ = true;
  for (const ExpressionId load : loads) {
    const DType dtype = kernel_.expressions[load].dtype;
    const std::string type = is_vector(load) ? memory_.type(dtype) : type_text(dtype);
    lines_.line(text(type, " x", load.number, "[", turns, "];"));
  }
}

void TurnLoads::load(ExpressionId load, PointText& point) {
  const Expression& e = kernel_.expressions[load];
  if (is_vector(load)) {
    const std::string type = has_arrays_ ? "" : text("const ", memory_.type(e.dtype), " ");
    return lines_.line(text(type, name(load), " = ", memory_.guarded_load(e.access, point), ";"));
  }
  point.declare(load, point.value(e));
  if (has_arrays_) lines_.line(text(name(load), " = v", load.number, ";"));
}

void TurnLoads::load_element(ExpressionId load, const PointText& point) {
  const AccessId access = kernel_.expressions[load].access;
  lines_.line(text(name(load), ".at[e] = ", memory_.guarded_element(access, point), ";"));
}

void TurnLoads::use(const std::vector<ExpressionId>& loads, PointText& point) const {
  for (const ExpressionId load : loads) {
    if (!is_vector(load)) point.declare(load, name(load));
  }
}

void TurnLoads::use_elements(const std::vector<ExpressionId>& loads, PointText& element) const {
  for (const ExpressionId load : loads) {
    if (!is_vector(load)) continue;
    const DType dtype = kernel_.expressions[load].dtype;
    element.declare(load, value_of(dtype, name(load) + ".at[e]"));
  }
}

}  // namespace kiln::codegen
