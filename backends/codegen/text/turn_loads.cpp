// Scalars are converted from the format of memory when they are loaded, vectors element by element
// when they are used.
#include "backends/codegen/text/turn_loads.h"

#include "backends/codegen/text/scalar_text.h"
#include "core/types/text.h"

namespace kiln::codegen {

std::string stored_type(DType dtype) { return half_text(dtype) ? "u16" : type_text(dtype); }

std::string value_of(DType dtype, const std::string& stored) {
  const char* half = half_text(dtype);
  return half ? text(half, "_value(", stored, ")") : stored;
}

std::string stored_of(DType dtype, const std::string& value) {
  const char* half = half_text(dtype);
  return half ? text(half, "_bits(", value, ")") : value;
}

std::string TurnLoads::vector_type(DType dtype) const {
  return text("Vector<", stored_type(dtype), ", ", elements_, ">");
}

std::string TurnLoads::vector_load(AccessId access, const PointText& point) const {
  const DType dtype = kernel_.operands[kernel_.accesses[access].operand].dtype;
  return text("load_vector<", vector_type(dtype), ", ", stored_type(dtype), ">(",
              point.element(access), ")");
}

std::string TurnLoads::name(ExpressionId load) const {
  return text("x", load.number, has_arrays_ ? "[turn]" : "");
}

void TurnLoads::declare(const std::vector<ExpressionId>& loads, std::int64_t turns) {
  has_arrays_ = true;
  for (const ExpressionId load : loads) {
    const DType dtype = kernel_.expressions[load].dtype;
    const std::string type = is_vector(load) ? vector_type(dtype) : type_text(dtype);
    lines_.line(text(type, " x", load.number, "[", turns, "];"));
  }
}

void TurnLoads::load(ExpressionId load, PointText& point) {
  const Expression& e = kernel_.expressions[load];
  if (!is_vector(load)) {
    point.declare(load, point.value(e));
    if (has_arrays_) lines_.line(text(name(load), " = v", load.number, ";"));
    return;
  }
  const std::string type = vector_type(e.dtype), allowed = point.condition(e.access);
  const std::string read = vector_load(e.access, point);
  const std::string to = text(has_arrays_ ? "" : "const " + type + " ", name(load));
  lines_.line(allowed.empty() ? text(to, " = ", read, ";")
                              : text(to, " = ", allowed, " ? ", read, " : ", type, "{};"));
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
