// Each stage is a block with the loops of the inner axes around its expressions, in their order.
#include "backends/codegen/text/stage_text.h"

#include "backends/codegen/kernel/needed.h"
#include "backends/codegen/text/scalar_text.h"
#include "core/types/text.h"

namespace kiln::codegen {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

std::string StageText::size(const ir::Dim& dim) const {
  if (!dim.is_static()) return text("n", size_argument(kernel_, dim));
  return text("s64(", dim.value(), ")");
}

void StageText::open_loop(int axis, const std::string& begin, const std::string& end) {
  lines_.open(text("for (s64 i", axis, " = ", begin, "; i", axis, " < ", end, "; ++i", axis, ")"));
}

DType StageText::dtype_of(int expression) const {
  return kernel_.expressions[at(expression)].dtype;
}

void StageText::write(int number) {
  const Stage& stage = kernel_.stages[at(number)];
  if (stage.kind != StageKind::Map) declare_result(number, stage);
  const int outside = lines_.depth();
  lines_.open("");
  if (stage.inner) {
    for (int axis = kernel_.outer; axis < static_cast<int>(kernel_.axes.size()); ++axis) {
      open_loop(axis, "0", size(kernel_.axes[at(axis)]));
    }
  }
  declared_.assign(kernel_.expressions.size(), false);
  if (stage.kind != StageKind::Map) {
    evaluate({stage.value});
    combine(number, stage);
  }
  std::vector<int> roots = roots_of(kernel_, stage);
  roots[0] = -1;  // its value has been combined
  evaluate(roots);
  for (const Store& store : stage.stores) write_store(store);
  lines_.close_to(outside);
}

void StageText::declare_result(int number, const Stage& stage) {
  const DType dtype = dtype_of(stage.value);
  if (stage.combiner == Combiner::ArgMax) {
    lines_.line(text("s64 r", number, " = 0;"));
    lines_.line(text(type_text(dtype), " best", number, "{};"));
    return lines_.line(text("bool first", number, " = true;"));
  }
  const std::string start = constant_text(dtype, start_bits(stage.combiner, dtype));
  lines_.line(text(type_text(dtype), " r", number, " = ", start, ";"));
}

void StageText::combine(int number, const Stage& stage) {
  const DType dtype = dtype_of(stage.value);
  const std::string value = operand_text(dtype, text("v", stage.value));
  if (stage.combiner == Combiner::ArgMax) {
    lines_.open(text("if (first", number, " || above<", type_text(dtype), ">(", value, ", best",
                     number, "))"));
    lines_.line(text("first", number, " = false;"));
    lines_.line(text("best", number, " = ", value, ";"));
    lines_.line(text("r", number, " = i", kernel_.axes.size() - 1, ";"));
    return lines_.close();
  }
  static constexpr ir::Op kOps[] = {ir::Op::Identity, ir::Op::Add, ir::Op::Mul, ir::Op::Maximum,
                                    ir::Op::Minimum};
  const ir::Op op = kOps[static_cast<int>(stage.combiner)];
  const std::string result = text("r", number);
  lines_.line(text(result, " = ", apply_text(op, dtype, dtype, {result, value}), ";"));
}

void StageText::evaluate(const std::vector<int>& roots) {
  const std::vector<bool> wanted = needed(kernel_, roots);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i] || declared_[i]) continue;
    const Expression& e = kernel_.expressions[i];
    lines_.line(text("const ", type_text(e.dtype), " v", i, " = ", value(e), ";"));
    declared_[i] = true;
  }
}

std::string StageText::value(const Expression& e) const {
  switch (e.kind) {
    case ExpressionKind::Constant: return constant_text(e.dtype, e.bits);
    case ExpressionKind::AxisIndex: return text("i", e.number);
    case ExpressionKind::SizeValue: return text("n", e.number);
    case ExpressionKind::StageResult: return text("r", e.number);
    case ExpressionKind::Random: return random(e);
    case ExpressionKind::Load: return load(e);
    case ExpressionKind::Convert: return convert(e);
    case ExpressionKind::Apply: break;
  }
  const auto arity = at(ir::def(e.op).arity);
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < arity; ++i) arguments.push_back(argument(e, i));
  return apply_text(e.op, dtype_of(e.arguments[arity - 1]), e.dtype, arguments);
}

std::string StageText::argument(const Expression& e, std::size_t i) const {
  return operand_text(dtype_of(e.arguments[i]), text("v", e.arguments[i]));
}

std::string StageText::convert(const Expression& e) const {
  const char* half = half_text(e.dtype);
  if (half) return text("to_", half, "(half_source(", argument(e, 0), "))");
  return text("convert<", type_text(e.dtype), ">(", argument(e, 0), ")");
}

std::string StageText::load(const Expression& e) const {
  const std::string read = load_text(e.dtype, element(e.number));
  const std::string allowed = condition(e.number);
  if (allowed.empty()) return read;
  return text(allowed, " ? ", read, " : ", type_text(e.dtype), "(0)");
}

std::string StageText::random(const Expression& e) const {
  const char* half = half_text(e.dtype);
  const char* name = half ? half : e.dtype == DType::Float64 ? "f64" : "f32";
  return text("uniform_", name, "(drawn(seed ^ ", static_cast<std::uint64_t>(e.seed),
              "ull, call_counter, ", argument(e, 0), ", ", argument(e, 1), ", ",
              static_cast<std::uint64_t>(e.stream), "ull))");
}

std::string StageText::index(const Access& access) const {
  return text("wrap<s64>(bits(v", access.dynamic, "))");
}

std::string StageText::condition(int number) const {
  const Access& access = kernel_.accesses[at(number)];
  std::string all = access.when < 0 ? "" : text("bool(v", access.when, ")");
  if (access.dynamic < 0) return all;
  if (!all.empty()) all += " && ";
  const std::string limit = size(access.dynamic_limit), at = index(access);
  return text(all, "(inside(", at, ", ", limit, ") || fault(", number, ", ", at, ", ", limit, "))");
}

std::string StageText::element(int number) const {
  const Access& access = kernel_.accesses[at(number)];
  std::string sum = size(access.offset);
  for (std::size_t axis = 0; axis < access.strides.size(); ++axis) {
    const ir::Dim& stride = access.strides[axis];
    if (stride == ir::Dim(0)) continue;
    sum += text(" + i", axis, stride.is_one() ? "" : " * " + size(stride));
  }
  if (access.dynamic >= 0) sum += text(" + ", index(access), " * ", size(access.dynamic_stride));
  return text("b", access.operand, ", ", sum);
}

void StageText::write_store(const Store& store) {
  const DType dtype = dtype_of(store.value);
  const std::string to = element(store.access), allowed = condition(store.access);
  lines_.open(allowed.empty() ? "" : text("if (", allowed, ")"));
  std::string value = text("v", store.value);
  if (store.accumulate) {
    lines_.line(text("const ", type_text(dtype), " old = ", load_text(dtype, to), ";"));
    value = apply_text(ir::Op::Add, dtype, dtype,
                       {operand_text(dtype, "old"), operand_text(dtype, value)});
  }
  lines_.line(store_text(dtype, to, value));
  lines_.close();
}

}  // namespace kiln::codegen
