// The stages in the order in which they come to be.
#include "backends/codegen/host/dump_stages.h"

#include "core/types/text.h"

namespace kiln::codegen {

void Dumps::step(std::size_t position, const PipelineStep& step,
                 const Compilation& compilation) const {
  if (!step.print) return;
  hand_over("lowering", text(position < 10 ? "0" : "", position, "_", step.name), [&] {
    return text("; ", step.name, ": ", step.description, "\n", step.print(compilation));
  });
}

void Dumps::program(const Program& program) const {
  hand_over("claims", "", [&] { return print_claims(program); });
  hand_over("kernels", "", [&] {
    std::string all;
    for (const BuiltKernel& built : program.kernels) all += print(built.kernel) + "\n";
    return all;
  });
  hand_over("plan", "", [&] { return print(program); });
  hand_over("memory_plan", "", [&] { return print_memory(program); });
}

void Dumps::binding(const Program& program, const BoundPlan& bound, std::uint64_t number) const {
  const std::string name = text("sizes-", number);
  hand_over("claims", name, [&] { return print_products(bound); });
  hand_over("memory_plan", name, [&] { return print_memory(program, bound); });
}

void Dumps::compile_times(const CompileTimes& times) const {
  hand_over("timings", "compile", [&] { return times.print(); });
}

void Dumps::call_times(const CallTimes& times, const Program& program) const {
  hand_over("timings", "calls", [&] { return times.print(program); });
}

}  // namespace kiln::codegen
