// Prints a kernel: operands, sizes, axes, the expressions as numbered lines, then the stages.
#include "backends/codegen/inspect/comment_text.h"
#include "backends/codegen/kernel/kernel.h"

#include "core/ops/convert.h"
#include "core/types/text.h"

#include <charconv>
#include <cstring>
#include <limits>

namespace kiln::codegen {
namespace {

constexpr const char* kStageNames[] = {"map", "reduce", "running"};
constexpr const char* kCombinerNames[] = {"", "sum", "prod", "max", "min", "arg_max"};

std::string arguments(const Expression& e) {
  std::string list;
  for (const ExpressionId argument : e.arguments) {
    if (argument) list += text(list.empty() ? "" : ", ", "v", argument.number);
  }
  return list;
}

std::string decimal_float(const Expression& e) {
  double value = 0;
  ir::load_floating(e.dtype, reinterpret_cast<const std::byte*>(&e.bits), &value, 1);
  TextStream out;
  const bool is_wide = e.dtype == DType::Float64;
  out.precision(is_wide ? std::numeric_limits<double>::max_digits10
                        : std::numeric_limits<float>::max_digits10);
  out << value;
  return std::move(out).str();
}

std::string decimal(const Expression& e) {
  if (is_float(e.dtype)) return decimal_float(e);
  const auto* bytes = reinterpret_cast<const std::byte*>(&e.bits);
  if (info(e.dtype).kind == DTypeKind::Unsigned) {
    std::uint64_t value = 0;
    ir::load_unsigned(e.dtype, bytes, &value, 1);
    return text(value);
  }
  std::int64_t value = 0;
  ir::load_signed(e.dtype, bytes, &value, 1);
  return text(value);
}

/// The bits of a decimal number in that dtype.
std::uint64_t bits_of(DType dtype, const std::string& number) {
  std::uint64_t bits = 0;
  auto* bytes = reinterpret_cast<std::byte*>(&bits);
  const char* const begin = number.data();
  const char* const end = begin + number.size();
  if (is_float(dtype)) {
    double value = 0;
    std::from_chars(begin, end, value);
    ir::store_floating(dtype, &value, bytes, 1);
  } else if (info(dtype).kind == DTypeKind::Unsigned) {
    std::uint64_t value = 0;
    std::from_chars(begin, end, value);
    ir::store_unsigned(dtype, &value, bytes, 1);
  } else {
    std::int64_t value = 0;
    std::from_chars(begin, end, value);
    ir::store_signed(dtype, &value, bytes, 1);
  }
  return bits;
}

/// The constant in decimal, or its bits where the decimal form does not round-trip: some NaNs, and
/// subnormals, which a store flushes.
std::string constant(const Expression& e) {
  const std::string number = decimal(e);
  if (bits_of(e.dtype, number) == e.bits) return number;
  TextStream out;
  out << "bits 0x" << std::hex << e.bits;
  return std::move(out).str();
}

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel) {}

  std::string run() const {
    std::string out = head();
    if (!kernel_.comes_from.empty()) out += "  # " + comment_text(kernel_.comes_from) + "\n";
    for (std::size_t i = 0; i < kernel_.sizes.size(); ++i) {
      out += text("  n", i, " = ", comment_text(kernel_.sizes[i].to_string()), "\n");
    }
    for (std::size_t i = 0; i < kernel_.axes.size(); ++i) out += axis(static_cast<int>(i));
    for (const ExpressionId i : kernel_.expressions.ids()) {
      const Expression& e = kernel_.expressions[i];
      out += text("  v", i.number, ": ", dtype_name(e.dtype), " = ", meaning(e), "\n");
    }
    for (const StageId i : kernel_.stages.ids()) out += stage(i);
    return out;
  }

 private:
  std::string head() const {
    std::string out = text("kernel ", kernel_.name, "(");
    for (const OperandId i : kernel_.operands.ids()) {
      const Operand& operand = kernel_.operands[i];
      out += text(i.number == 0 ? "" : ", ", operand.name, ": ", dtype_name(operand.dtype),
                  operand.read ? " read" : "", operand.written ? " written" : "");
    }
    return out + ")\n";
  }

  std::string axis(int number) const {
    return text("  i", number, " below ", size(kernel_.axes[static_cast<std::size_t>(number)]),
                number < kernel_.outer ? "" : ", inner",
                number == kernel_.vector_axis ? ", lanes" : "",
                number == 0 && kernel_.part_multiple != 1
                    ? text(", divided at multiples of ", kernel_.part_multiple)
                    : "",
                "\n");
  }

  std::string stage(StageId id) const {
    const Stage& printed = kernel_.stages[id];
    std::string out = text("  stage ", id.number, ": ", kStageNames[static_cast<int>(printed.kind)],
                           printed.inner ? " over inner axes" : " once");
    if (printed.kind != StageKind::Map) {
      out += text(", ", kCombinerNames[static_cast<int>(printed.combiner)], " of v",
                  printed.value.number);
    }
    out += "\n";
    for (const Store& store : printed.stores) {
      out += text("    ", store.accumulate ? "add v" : "store v", store.value.number, " to ",
                  access_text(store.access), "\n");
    }
    return out;
  }

  std::string meaning(const Expression& e) const {
    switch (e.kind) {
      case ExpressionKind::Constant: return constant(e);
      case ExpressionKind::AxisIndex: return text("i", e.number);
      case ExpressionKind::SizeValue: return text("size n", e.number);
      case ExpressionKind::Load: return "load " + access_text(e.access);
      case ExpressionKind::Apply: return text(ir::def(e.op).name, "(", arguments(e), ")");
      case ExpressionKind::Convert: return text("convert(", arguments(e), ")");
      case ExpressionKind::Bitcast: return text("bitcast(", arguments(e), ")");
      case ExpressionKind::StageResult: return text("result of stage ", e.stage.number);
      case ExpressionKind::Random:
        return text("random(", arguments(e), ") seed ", e.seed, " stream ", e.stream);
    }
    return "";
  }

  std::string size(const ir::Dim& dim) const {
    const int number = size_argument(kernel_, dim);
    return number < 0 ? comment_text(dim.to_string()) : text("n", number);
  }
  std::string times(const ir::Dim& stride) const {
    return stride.is_one() ? "" : "*" + size(stride);
  }

  std::string element(const Access& access) const {
    std::string sum;
    const auto add = [&](const std::string& term) { sum += (sum.empty() ? "" : " + ") + term; };
    for (std::size_t axis = 0; axis < access.strides.size(); ++axis) {
      const ir::Dim& stride = access.strides[axis];
      if (stride != ir::Dim(0)) add(text("i", axis, times(stride)));
    }
    if (access.dynamic) {
      add(text("v", access.dynamic.number, times(access.dynamic_stride), " below ",
               size(access.dynamic_limit)));
    }
    if (access.offset != ir::Dim(0) || sum.empty()) add(size(access.offset));
    return kernel_.operands[access.operand].name + "[" + sum + "]";
  }

  /// The access's number, its element and its guard.
  std::string access_text(AccessId id) const {
    const Access& access = kernel_.accesses[id];
    const std::string guard = !access.when ? "" : text(" when v", access.when.number);
    return text("a", id.number, " ", element(access), guard);
  }

  const Kernel& kernel_;
};

}  // namespace

std::string print(const Kernel& kernel) { return Printer(kernel).run(); }

}  // namespace kiln::codegen
