// Dumps the stages that every target has.
#include "backends/codegen/dumps.h"

#include "core/types/text.h"

namespace kiln::codegen {

void Dumps::pass(std::size_t position, const CodegenPass& pass,
                 const Compilation& compilation) const {
  if (!pass.print) return;
  hand_over("lowering", text(position < 10 ? "0" : "", position, "_", pass.name), [&] {
    return text("; ", pass.name, ": ", pass.description, "\n", pass.print(compilation));
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
}

void Dumps::compile_times(const CompileTimes& times) const {
  hand_over("timings", "compile", [&] { return times.print(); });
}

}  // namespace kiln::codegen
