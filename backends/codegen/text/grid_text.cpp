// Threads stride over the points; a point's indices are the digits of its number. Each function is
// preceded by its kernel and its schedule as comments.
#include "backends/codegen/text/grid_text.h"

#include "backends/codegen/text/stage_text.h"
#include "backends/codegen/text/text_prelude.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

constexpr const char* kCallBlock = R"(
struct CallBlock {
  u64 seed, call_counter;
  s64 point, access, index, limit;
  s32 step;
  u32 lock;
};
namespace {
// Blocks of the step with the fault are not stopped, so that its first point is recorded.
inline bool is_stopped(const volatile CallBlock* call, s32 step) { return call->step < step; }
// Only threads with a bad index take the lock.
inline bool record(CallBlock* call, s32 step, s64 point, s64 access, s64 index, s64 limit) {
  while (atomicCAS(&call->lock, 0u, 1u) != 0u) {
  }
  __threadfence();
  volatile CallBlock* known = call;
  const bool is_first = known->access < 0 || step < known->step ||
                        (step == known->step && point < known->point);
  if (is_first) {
    known->step = step;
    known->point = point;
    known->access = access;
    known->index = index;
    known->limit = limit;
  }
  __threadfence();
  atomicExch(&call->lock, 0u);
  return false;
}
}  // namespace
)";

std::string parameters(const Kernel& kernel) {
  std::string list;
  for (std::size_t i = 0; i < kernel.operands.size(); ++i) {
    list += text(kernel.operands[i].written ? "u8* const b" : "const u8* const b", i, ", ");
  }
  for (std::size_t i = 0; i < kernel.sizes.size(); ++i) list += text("const s64 n", i, ", ");
  return list + "const s64 points, const s32 step, CallBlock* const call";
}

/// Each line as a comment.
std::string commented(const std::string& lines) {
  std::string out;
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    out += "// " + lines.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return out;
}

class FunctionText {
 public:
  FunctionText(const Kernel& kernel, const GridSchedule& schedule)
      : kernel_(kernel), schedule_(schedule), stages_(kernel, lines_) {}

  std::string run() {
    lines_.line(text("extern \"C\" __global__ void __launch_bounds__(", schedule_.threads, ")"));
    lines_.open(text(kernel_.name, "(", parameters(kernel_), ")"));
    lines_.line("if (is_stopped(call, step)) return;");
    lines_.line("const u64 seed = call->seed, call_counter = call->call_counter;");
    lines_.line("const s64 stride = s64(gridDim.x) * blockDim.x;");
    lines_.open(
        "for (s64 point = s64(blockIdx.x) * blockDim.x + threadIdx.x; point < points; point += "
        "stride)");
    lines_.line(
        "const auto fault = [=](s64 access, s64 index, s64 limit) { return record(call, step, "
        "point, access, index, limit); };");
    write_indices();
    for (int axis = schedule_.parallel_axes; axis < kernel_.outer; ++axis) {
      stages_.open_loop(axis, "0", extent(axis));
    }
    for (std::size_t s = 0; s < kernel_.stages.size(); ++s) stages_.write(static_cast<int>(s));
    lines_.close_to(0);
    return commented(print(kernel_) + print(schedule_)) + lines_.str();
  }

 private:
  std::string extent(int axis) const {
    return stages_.size(kernel_.axes[static_cast<std::size_t>(axis)]);
  }

  void write_indices() {
    if (schedule_.parallel_axes > 1) lines_.line("s64 rest = point;");
    for (int axis = schedule_.parallel_axes - 1; axis > 0; --axis) {
      lines_.line(text("const s64 i", axis, " = rest % ", extent(axis), ";"));
      lines_.line(text("rest /= ", extent(axis), ";"));
    }
    if (schedule_.parallel_axes == 1) lines_.line("const s64 i0 = point;");
    if (schedule_.parallel_axes > 1) lines_.line("const s64 i0 = rest;");
  }

  const Kernel& kernel_;
  const GridSchedule& schedule_;
  TextLines lines_;
  StageText stages_;
};

}  // namespace

std::string grid_functions(std::span<const ScheduledKernel> kernels) {
  std::string out = kCallBlock;
  for (const ScheduledKernel& one : kernels) {
    verify(one.kernel);
    out += "\n" + FunctionText(one.kernel, one.schedule).run();
  }
  return out;
}

std::string grid_text(std::span<const ScheduledKernel> kernels) {
  Formulas used;
  for (const ScheduledKernel& one : kernels) add_formulas(one.kernel, used);
  return text_prelude(TextDialect::Cuda, used) + grid_functions(kernels);
}

}  // namespace kiln::codegen
