// Kernels as text: the domain, operands, then stages with the expressions as numbered lines.
#include "backends/codegen/kernel/kernel.h"

#include "core/ops/convert.h"
#include "core/types/text.h"

#include <limits>

namespace kiln::codegen {
namespace {

constexpr const char* kStageNames[] = {"map", "reduce", "running"};
constexpr const char* kCombinerNames[] = {"", "sum", "prod", "max", "min", "arg_max"};

std::string times(const ir::Dim& stride) {
  if (stride.is_one()) return "";
  return stride.is_static() ? text("*", stride) : text("*(", stride, ")");
}

std::string element(const Kernel& kernel, const Access& access) {
  std::string sum;
  const auto add = [&](const std::string& term) { sum += (sum.empty() ? "" : " + ") + term; };
  for (std::size_t axis = 0; axis < access.strides.size(); ++axis) {
    const ir::Dim& stride = access.strides[axis];
    if (stride == ir::Dim(0)) continue;
    add(text("i", axis, times(stride)));
  }
  if (access.dynamic >= 0) {
    add(text("v", access.dynamic, times(access.dynamic_stride), " below ", access.dynamic_limit));
  }
  if (access.offset != ir::Dim(0) || sum.empty()) add(text(access.offset));
  return kernel.operands[static_cast<std::size_t>(access.operand)].name + "[" + sum + "]";
}

/// The element and the access's guard.
std::string place(const Kernel& kernel, const Access& access) {
  const std::string guard = access.when < 0 ? "" : text(" when v", access.when);
  return element(kernel, access) + guard;
}

std::string arguments(const Expression& e) {
  std::string list;
  for (const int argument : e.arguments) {
    if (argument >= 0) list += text(list.empty() ? "" : ", ", "v", argument);
  }
  return list;
}

/// The number that the element's bytes are.
std::string constant(const Expression& e) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&e.bits);
  if (is_float(e.dtype)) {
    double value = 0;
    ir::load_real(e.dtype, bytes, &value, 1);
    TextStream out;
    const bool wide = e.dtype == DType::Float64;
    out.precision(wide ? std::numeric_limits<double>::max_digits10
                       : std::numeric_limits<float>::max_digits10);
    out << value;
    return std::move(out).str();
  }
  if (info(e.dtype).kind == DTypeKind::Unsigned) {
    std::uint64_t value = 0;
    ir::load_natural(e.dtype, bytes, &value, 1);
    return text(value);
  }
  std::int64_t value = 0;
  ir::load_integer(e.dtype, bytes, &value, 1);
  return text(value);
}

std::string meaning(const Kernel& kernel, const Expression& e) {
  switch (e.kind) {
    case ExpressionKind::Constant: return constant(e);
    case ExpressionKind::AxisIndex: return text("i", e.number);
    case ExpressionKind::SizeValue:
      return text("size ", kernel.sizes[static_cast<std::size_t>(e.number)]);
    case ExpressionKind::Load:
      return place(kernel, kernel.accesses[static_cast<std::size_t>(e.number)]);
    case ExpressionKind::Apply: return text(ir::def(e.op).name, "(", arguments(e), ")");
    case ExpressionKind::Convert: return text("convert(", arguments(e), ")");
    case ExpressionKind::StageResult: return text("result of stage ", e.number);
    case ExpressionKind::Random:
      return text("random(", arguments(e), ") seed ", e.seed, " stream ", e.stream);
  }
  return "";
}

}  // namespace

std::string print(const Kernel& kernel) {
  std::string out = text("kernel ", kernel.name, "(");
  for (std::size_t i = 0; i < kernel.operands.size(); ++i) {
    const Operand& operand = kernel.operands[i];
    out += text(i == 0 ? "" : ", ", operand.name, ": ", dtype_name(operand.dtype),
                operand.read ? " read" : "", operand.written ? " written" : "");
  }
  out += ")\n";
  if (!kernel.comes_from.empty()) out += "  # " + kernel.comes_from + "\n";
  for (std::size_t axis = 0; axis < kernel.axes.size(); ++axis) {
    const int number = static_cast<int>(axis);
    out += text("  i", axis, " below ", kernel.axes[axis],
                number < kernel.outer ? "" : ", inner",
                number == kernel.vector_axis ? ", lanes" : "", "\n");
  }
  for (std::size_t i = 0; i < kernel.expressions.size(); ++i) {
    const Expression& e = kernel.expressions[i];
    out += text("  v", i, ": ", dtype_name(e.dtype), " = ", meaning(kernel, e), "\n");
  }
  for (std::size_t i = 0; i < kernel.stages.size(); ++i) {
    const Stage& stage = kernel.stages[i];
    out += text("  stage ", i, ": ", kStageNames[static_cast<int>(stage.kind)],
                stage.inner ? " over inner axes" : " once");
    if (stage.kind != StageKind::Map) {
      out += text(", ", kCombinerNames[static_cast<int>(stage.combiner)], " of v", stage.value);
    }
    out += "\n";
    for (const Store& store : stage.stores) {
      const Access& access = kernel.accesses[static_cast<std::size_t>(store.access)];
      out += text("    ", place(kernel, access), store.accumulate ? " += v" : " = v", store.value,
                  "\n");
    }
  }
  return out;
}

}  // namespace kiln::codegen
