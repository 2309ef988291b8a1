// Writes the label of each kind of step in one overload of label().
#include "backends/cuda/execute/launch_labels.h"

#include "backends/codegen/inspect/comment_text.h"
#include "backends/codegen/inspect/source.h"
#include "core/ops/op.h"
#include "core/types/at.h"
#include "core/types/text.h"

namespace kiln::cuda {
namespace {

using namespace codegen;

std::string grid_text(const GridLaunch& grid) {
  if (grid.points == 0) return "no points: nothing is launched";
  return text(grid.blocks, " blocks of ", grid.threads, " threads for ", grid.points, " points");
}

/// The grid of a kernel that is not bound to sizes: in numbers where all its sizes are static.
std::string unbound_grid_text(const Kernel& kernel, const GridSchedule& schedule,
                              const GridDescription& device) {
  if (kernel.sizes.empty()) {
    const auto value = [](const ir::Dim& extent) { return extent.value(); };
    return grid_text(launch_of(kernel, schedule, device, value));
  }
  std::string points;
  for (const int axis : schedule.axes) {
    points += text(points.empty() ? "" : " x ", kernel.axes[at(axis)]);
  }
  return text("blocks of ", schedule.threads, " threads for ", points.empty() ? "1" : points,
              " points");
}

Label label(const ScheduledProgram& program, const KernelStep& step, const DeviceStep* bound) {
  const Kernel& kernel = program.lowered.program.kernels[at(step.kernel)].kernel;
  const GridSchedule& schedule = program.schedules[at(step.kernel)];
  const std::string grid = bound == nullptr ? unbound_grid_text(kernel, schedule, program.grid)
                                            : grid_text(std::get<KernelLaunch>(*bound).grid);
  return {kernel.name, grid, print(schedule), kernel.comes_from};
}

Label label(const ScheduledProgram&, const LibraryStep& step, const DeviceStep* bound) {
  std::string calls;
  if (const auto* matmul = bound == nullptr ? nullptr : std::get_if<DeviceMatmul>(bound)) {
    calls = text("calls of cuBLASLt: ", matmul->parts.size(), ", ", matmul->workspace_bytes,
                 " bytes of workspace");
  }
  return {text(ir::def(step.node->op).name, " ", step.dtype, step.bias < 0 ? "" : " + bias",
               step.relu ? ", relu" : ""),
          calls, source_of(*step.node)};
}

Label label(const ScheduledProgram&, const CopyStep&, const DeviceStep*) { return {"copy"}; }

Label label(const ScheduledProgram&, const RowUpdateStep& step, const DeviceStep*) {
  return {"row update", source_of(*step.updates[0].node)};
}

Label label(const ScheduledProgram&, const HostCallStep& step, const DeviceStep*) {
  return {text("host call ", step.node->as<ir::HostCallAttrs>().function), source_of(*step.node)};
}

Label label(const ScheduledProgram&, const LoopStep& step, const DeviceStep* bound) {
  const auto& attrs = step.node->as<ir::ScanAttrs>();
  const std::string length =
      bound == nullptr ? text(attrs.length) : text(std::get<DeviceLoop>(*bound).loop.length);
  return {text("loop of ", length, " iterations", attrs.reverse ? ", backwards" : ""),
          source_of(*step.node)};
}

Label label(const ScheduledProgram&, const BranchStep& step, const DeviceStep*) {
  return {"branch: the host reads its predicate", source_of(*step.node)};
}

}  // namespace

std::string dot_string(const Label& label) {
  std::string out = "\"";
  for (const std::string& line : label) {
    if (line.empty()) continue;
    if (out.size() > 1) out += "\\n";
    for (const char c : comment_text(line)) {
      if (c == '"') out += '\\';
      out += c;
    }
  }
  return out + "\"";
}

std::string name_of_argument(const module::Module& module, std::size_t number) {
  const std::size_t inputs = module.graph.inputs.size();
  if (number >= inputs) {
    const ir::Value& variable = module.state[number - inputs].variable;
    return "variable " + variable.node->as<ir::VariableAttrs>().name;
  }
  const ir::Node& input = *module.graph.inputs[number].node;
  const auto* placeholder = std::get_if<ir::PlaceholderAttrs>(&input.attrs);
  return text("input ", placeholder == nullptr ? text(number) : placeholder->name);
}

std::string name_of_result(const ir::Graph& graph, std::size_t number) {
  if (number < graph.outputs.size()) return text("output ", number);
  const ir::Update& update = graph.updates[number - graph.outputs.size()];
  return "new value of " + update.variable.node->as<ir::VariableAttrs>().name;
}

Label label_of(const ScheduledProgram& program, const Step& step, const DeviceStep* bound) {
  return std::visit([&](const auto& one) { return label(program, one, bound); }, step);
}

}  // namespace kiln::cuda
