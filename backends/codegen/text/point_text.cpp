// Declares each expression once per scope, in the order of the kernel.
#include "backends/codegen/text/point_text.h"

#include "backends/codegen/kernel/needed.h"
#include "backends/codegen/text/scalar_text.h"
#include "core/types/at.h"
#include "core/types/text.h"

namespace kiln::codegen {
namespace {

/// Whether the value is never subnormal: results are flushed where they are computed.
bool is_flushed(const Expression& e) {
  switch (e.kind) {
    case ExpressionKind::Apply:
    case ExpressionKind::Convert:
    case ExpressionKind::Random: return true;
    case ExpressionKind::Constant: {
      const bool is_float32 = e.dtype == DType::Float32;
      constexpr std::uint64_t kPower = 0x7f800000, kDigits = 0x007fffff;
      return is_float32 && ((e.bits & kPower) != 0 || (e.bits & kDigits) == 0);
    }
    default: return false;
  }
}

}  // namespace

std::string PointText::size(const ir::Dim& dim) const {
  if (!dim.is_static()) return text("n", size_argument(kernel_, dim));
  return text("s64(", dim.value(), ")");
}

DType PointText::dtype_of(ExpressionId expression) const {
  return kernel_.expressions[expression].dtype;
}

void PointText::begin() { declared_ = ExpressionFlags(kernel_.expressions.size(), false); }

void PointText::evaluate(const std::vector<ExpressionId>& roots) {
  declare(needed(kernel_, roots));
}

void PointText::declare(const ExpressionFlags& wanted) {
  for (const ExpressionId i : wanted.ids()) {
    if (wanted[i] && !declared_[i]) declare(i, value(kernel_.expressions[i]));
  }
}

void PointText::declare(ExpressionId id, const std::string& value) {
  const std::string type = type_text(dtype_of(id)), name = text("v", id.number);
  lines_.line(text("const ", type, " ", name, " = ", value, ";"));
  declared_[id] = true;
  if (is_as_declared(id)) return;
  lines_.line(text("const ", type, " f", id.number, " = ", operand_text(dtype_of(id), name), ";"));
}

std::string PointText::value(const Expression& e) const {
  switch (e.kind) {
    case ExpressionKind::Constant: return constant_text(e.dtype, e.bits);
    case ExpressionKind::AxisIndex: return text("i", e.number);
    case ExpressionKind::SizeValue: return text("n", e.number);
    case ExpressionKind::StageResult: return text("r", e.stage.number);
    case ExpressionKind::Random: return random(e);
    case ExpressionKind::Load: return load(e.access);
    case ExpressionKind::Convert: return convert(e);
    case ExpressionKind::Bitcast:
      return bitcast_text(dtype_of(e.arguments[0]), e.dtype, text("v", e.arguments[0].number));
    case ExpressionKind::Apply: break;
  }
  const auto arity = at(ir::def(e.op).arity);
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < arity; ++i) arguments.push_back(argument(e, i));
  return apply_text(e.op, dtype_of(e.arguments[arity - 1]), e.dtype, arguments);
}

std::string PointText::argument(const Expression& e, std::size_t i) const {
  const ExpressionId id = e.arguments[i];
  return e.kind == ExpressionKind::Apply ? operand(e.op, id) : flushed(id);
}

bool PointText::is_as_declared(ExpressionId id) const {
  return is_flushed(kernel_.expressions[id]) || operand_text(dtype_of(id), "v") == "v";
}

std::string PointText::flushed(ExpressionId id) const {
  return text(is_as_declared(id) ? "v" : "f", id.number);
}

std::string PointText::operand(ir::Op op, ExpressionId id) const {
  const std::string name = text("v", id.number);
  if (is_as_declared(id)) return name;
  const std::string own = operand_text(op, dtype_of(id), name);
  return own == operand_text(dtype_of(id), name) ? text("f", id.number) : own;
}

std::string PointText::convert(const Expression& e) const {
  const char* half = half_text(e.dtype);
  if (half) return text("to_", half, "(half_source(", argument(e, 0), "))");
  return text("convert<", type_text(e.dtype), ">(", argument(e, 0), ")");
}

std::string PointText::load(AccessId access) const {
  const DType dtype = kernel_.operands[kernel_.accesses[access].operand].dtype;
  const std::string read = load_text(dtype, element(access)), allowed = condition(access);
  if (allowed.empty()) return read;
  return text(allowed, " ? ", read, " : ", type_text(dtype), "(0)");
}

std::string PointText::random(const Expression& e) const {
  const char* half = half_text(e.dtype);
  const char* name = half ? half : e.dtype == DType::Float64 ? "f64" : "f32";
  return text("uniform_", name, "(drawn(seed ^ ", static_cast<std::uint64_t>(e.seed),
              "ull, call_counter, ", argument(e, 0), ", ", argument(e, 1), ", ",
              static_cast<std::uint64_t>(e.stream), "ull))");
}

std::string PointText::index(const Access& access) const {
  return text("wrap<s64>(bits(v", access.dynamic.number, "))");
}

std::string PointText::condition(AccessId id) const {
  const Access& access = kernel_.accesses[id];
  std::string all = !access.when ? "" : text("bool(v", access.when.number, ")");
  if (!access.dynamic) return all;
  if (!all.empty()) all += " && ";
  const std::string limit = size(access.dynamic_limit), value = index(access);
  return text(all, "(inside(", value, ", ", limit, ") || out_of_range(", id.number, ", ", value,
              ", ", limit, "))");
}

std::string PointText::element(AccessId id) const {
  const Access& access = kernel_.accesses[id];
  return element(id, !access.dynamic ? "" : index(access));
}

std::string PointText::element(AccessId id, const std::string& dynamic_index) const {
  const Access& access = kernel_.accesses[id];
  std::string sum = size(access.offset);
  for (std::size_t axis = 0; axis < access.strides.size(); ++axis) {
    const ir::Dim& stride = access.strides[axis];
    if (stride == ir::Dim(0)) continue;
    sum += text(" + i", axis, stride.is_one() ? "" : " * " + size(stride));
  }
  if (access.dynamic) sum += text(" + ", dynamic_index, " * ", size(access.dynamic_stride));
  return text("b", access.operand.number, ", ", sum);
}

std::string PointText::sum(const Store& store, const std::string& old) const {
  const DType dtype = dtype_of(store.value);
  return apply_text(ir::Op::Add, dtype, dtype,
                    {operand_text(ir::Op::Add, dtype, old), operand(ir::Op::Add, store.value)});
}

void PointText::write_store(const Store& store, const std::string& old) {
  const DType dtype = dtype_of(store.value);
  const std::string to = element(store.access), allowed = condition(store.access);
  lines_.open(allowed.empty() ? "" : text("if (", allowed, ")"));
  std::string value = text("v", store.value.number);
  if (store.accumulate) {
    const std::string before = old.empty() ? load_text(dtype, to) : old;
    lines_.line(text("const ", type_text(dtype), " old = ", before, ";"));
    value = sum(store, "old");
  }
  lines_.line(store_text(dtype, to, value));
  lines_.close();
}

}  // namespace kiln::codegen
