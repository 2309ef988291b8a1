// Binds a kernel: evaluates its sizes and divides axis 0 into parts that take about the same time.
#include "backends/codegen/bind/kernel_sizes.h"
#include "backends/codegen/host/bind/bind_step.h"

#include <algorithm>
#include <numeric>

namespace kiln::codegen {
namespace {

/// Indices along axis 0 per part: about kernel_grain expressions, at most max_kernel_parts() parts,
/// a multiple of Kernel::part_multiple, and whole cache lines where neighbours along axis 0 are
/// contiguous.
std::int64_t grain_of(std::int64_t part_multiple, const KernelFacts& facts, std::int64_t range,
                      std::int64_t work_per_index, const HostDescription& host) {
  const std::int64_t block =
      std::lcm(part_multiple, facts.is_contiguous ? host.lane_block() : std::int64_t{1});
  const auto rounded = [&](std::int64_t grain) { return ceil_div(grain, block) * block; };
  const std::int64_t grain = rounded(std::max(std::int64_t{1}, host.kernel_grain / work_per_index));
  return rounded(std::max(grain, ceil_div(range, host.max_kernel_parts())));
}

}  // namespace

BoundKernel bind_kernel(const KernelStep& step, const StepBinding& binding) {
  BoundKernel bound{.function = {}, .sizes = List<std::int64_t>(binding.memory())};
  const BuiltKernel& built = binding.inputs.kernels()[step.kernel];
  const Kernel& kernel = built.kernel;
  const KernelFacts& facts = binding.inputs.facts.of_kernel(step.kernel);
  bound.function = binding.inputs.functions[step.kernel];
  const EvaluateDim evaluate = evaluate_for_kernel(kernel, binding.inputs.evaluate);
  bound.sizes.reserve(kernel.sizes.size());
  for (const ir::Dim& size : kernel.sizes) bound.sizes.push_back(evaluate(size));
  bound.range = 1;
  const HostDescription& host = binding.inputs.host;
  // Expressions evaluated per index along axis 0, saturated at kernel_grain.
  auto work = static_cast<std::int64_t>(kernel.expressions.size()) + 1;
  for (std::size_t axis = 0; axis < kernel.axes.size(); ++axis) {
    const std::int64_t extent = evaluate(kernel.axes[axis]);
    const bool is_outer = axis < static_cast<std::size_t>(kernel.outer);
    if (is_outer && extent == 0) bound.function = {};
    if (is_outer && axis == 0) {
      bound.range = extent;
      continue;
    }
    work = std::max(std::int64_t{1},
                    std::min(host.kernel_grain, work) * std::min(extent, host.kernel_grain));
  }
  if (!bound.function.run) bound.range = 0;
  const RowGroup* group = binding.group();
  if (binding.scale != 0 && bound.range != 0) {
    bound.begin = group->begin * binding.scale;
    bound.range = (group->end - group->begin) * binding.scale;
  }
  bound.grain = grain_of(kernel.part_multiple, facts, bound.range, work, host);
  bound.parallel = !group && kernel.outer > 0 && bound.range > bound.grain && !facts.adds_columns;
  for (const auto& [extent, node] : built.nonempty) {
    if (bound.range != 0 && binding.evaluate(extent) == 0) bound.empty_axis = node;
  }
  if (bound.range != 0 && !writes_points(kernel, evaluate)) {
    bound.function = {};
    bound.range = 0;
  }
  return bound;
}

}  // namespace kiln::codegen
