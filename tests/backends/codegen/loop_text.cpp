// Outer axes become loops around the stages; axis 0 covers the caller's range.
#include "tests/backends/codegen/loop_text.h"

#include "backends/codegen/inspect/comment_text.h"
#include "backends/codegen/text/stage_text.h"
#include "backends/codegen/text/text_prelude.h"
#include "core/types/text.h"

namespace kiln::codegen {
namespace {

/// The layout of host/prepared/kernel_function.h.
constexpr const char* kArguments = R"(
struct IndexOutOfRange {
  s64 access, index, limit;
};
struct KernelArguments {
  u8* const* buffers;
  const s64* sizes;
  s64 begin, end;
  IndexOutOfRange* out_of_range;
  u64 seed, call_counter;
};
)";

constexpr const char* kOutOfRange =
    "const auto out_of_range = [a](s64 access, s64 index, s64 limit) { "
    "if (a->out_of_range->access < 0) *a->out_of_range = {access, index, limit}; return false; };";

std::string function_text(const Kernel& kernel) {
  TextLines lines;
  if (!kernel.comes_from.empty()) lines.line("// " + comment_text(kernel.comes_from));
  lines.open(text("extern \"C\" void ", kernel.name, "(const void*, const KernelArguments* a)"));
  for (const OperandId i : kernel.operands.ids()) {
    lines.line(text("u8* const b", i.number, " = a->buffers[", i.number, "];"));
  }
  for (std::size_t i = 0; i < kernel.sizes.size(); ++i) {
    lines.line(text("const s64 n", i, " = a->sizes[", i, "];"));
  }
  lines.line("const u64 seed = a->seed, call_counter = a->call_counter;");
  lines.line(kOutOfRange);
  StageText stages(kernel, lines);
  for (int axis = 0; axis < kernel.outer; ++axis) {
    const bool is_split = axis == 0;
    const std::string extent = stages.size(kernel.axes[static_cast<std::size_t>(axis)]);
    stages.open_loop(axis, is_split ? "a->begin" : "0", is_split ? "a->end" : extent);
  }
  for (const StageId s : kernel.stages.ids()) stages.write(s);
  lines.close_to(0);
  return lines.str();
}

}  // namespace

std::string loop_text(std::span<const Kernel> kernels) {
  Formulas used;
  for (const Kernel& kernel : kernels) add_formulas(kernel, used);
  std::string out = text_prelude(TextDialect::Host, used) + kArguments;
  for (const Kernel& kernel : kernels) {
    verify(kernel);
    out += "\n" + function_text(kernel);
  }
  return out;
}

}  // namespace kiln::codegen
