// Linear indices below 2^32 are divided in 32 bits, several times faster on GPUs than in 64.
#include "backends/codegen/text/digits_text.h"

#include "core/types/at.h"
#include "core/types/text.h"

#include <limits>

namespace kiln::codegen {
namespace {

std::string size(const Kernel& kernel, int axis) {
  const ir::Dim& extent = kernel.axes[at(axis)];
  if (!extent.is_static()) return text("n", size_argument(kernel, extent));
  return text(extent.value());
}

/// Whether linear indices of the points fit in 32 bits.
bool is_narrow(const Kernel& kernel, const std::vector<int>& axes) {
  std::int64_t points = 1;
  for (const int axis : axes) {
    const ir::Dim& extent = kernel.axes[at(axis)];
    if (!extent.is_static()) return false;
    if (__builtin_mul_overflow(points, extent.value(), &points)) return false;
  }
  return points <= std::numeric_limits<std::uint32_t>::max();
}

}  // namespace

void write_digits(const Kernel& kernel, const std::vector<int>& axes, const std::string& number,
                  TextLines& lines) {
  if (axes.empty()) return;
  if (axes.size() == 1) return lines.line(text("const s64 i", axes[0], " = ", number, ";"));
  const char* type = is_narrow(kernel, axes) ? "u32" : "s64";
  const std::string rest = text("rest", axes[0]);
  lines.line(text(type, " ", rest, " = ", type, "(", number, ");"));
  for (std::size_t i = axes.size() - 1; i > 0; --i) {
    const std::string extent = text(type, "(", size(kernel, axes[i]), ")");
    lines.line(text("const s64 i", axes[i], " = ", rest, " % ", extent, ";"));
    lines.line(text(rest, " /= ", extent, ";"));
  }
  lines.line(text("const s64 i", axes[0], " = ", rest, ";"));
}

std::string outer_number(const Kernel& kernel) {
  if (kernel.outer == 0) return "0";
  std::string number = "i0";
  for (int axis = 1; axis < kernel.outer; ++axis) {
    number = text("(", number, ") * s64(", size(kernel, axis), ") + i", axis);
  }
  return number;
}

std::string out_of_range_lambda() {
  return "const auto out_of_range = [&](s64 access, s64 index, s64 limit) { "
         "return record(call, step, point, access, index, limit); };";
}

}  // namespace kiln::codegen
