// Dumps the stages that every target has.
#include "backends/codegen/dumps.h"

#include "backends/abi/kiln_backend_trace.h"
#include "core/module/source_paths.h"
#include "core/types/counted.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

constexpr std::string_view kListings[] = {"lowering", "claims",      "kernels",
                                          "plan",     "memory_plan", "timings"};

/// Steps of a program, those of bodies included.
struct StepCounts {
  std::size_t kernels = 0, matmuls = 0, convolutions = 0, others = 0;
};

void count_steps(const Plan& plan, StepCounts& counts) {
  for (const Step& step : plan.steps) {
    ++(std::holds_alternative<KernelStep>(step)        ? counts.kernels
       : std::holds_alternative<MatmulStep>(step)      ? counts.matmuls
       : std::holds_alternative<ConvolutionStep>(step) ? counts.convolutions
                                                       : counts.others);
    if (const auto* loop = std::get_if<LoopStep>(&step)) count_steps(*loop->body, counts);
    if (const auto* branch = std::get_if<BranchStep>(&step)) {
      for (const auto& body : branch->branches) count_steps(*body, counts);
    }
  }
}

}  // namespace

std::string Dumps::listing(std::string_view stage, std::string text) const {
  const bool is_listing =
      std::find(std::begin(kListings), std::end(kListings), stage) != std::end(kListings);
  if (module_ == nullptr || !is_listing) return text;
  return module::SourcePaths(*module_).shorten(text);
}

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

void Dumps::compilation(const Program& program, const CompileTimes& times) const {
  hand_over("trace", "compile thread", [&] {
    std::string rows;
    times.for_each_lap([&](const CompileTimes::Lap& lap) {
      sdk::append_trace_row(rows, {"compile", lap.part, lap.thread, lap.begin, lap.end}, "");
    });
    return rows;
  });
  if (!host_.log_enabled(KILN_LOG_INFO)) return;
  StepCounts counts;
  count_steps(program.plan, counts);
  host_.log(KILN_LOG_INFO, "compile",
            text(label_, ": ", counted(program.kernels.size(), "kernel"), "; steps: ",
                 counts.kernels, " of kernels, ", counted(counts.matmuls, "library matmul"), ", ",
                 counted(counts.convolutions, "library convolution"), ", ",
                 counted(counts.others, "other")));
}

void Dumps::binding(std::span<const sdk::Dims> sizes, std::uint64_t number,
                    Clock::time_point begin) const {
  const Clock::time_point end = Clock::now();
  const auto list = [&] {
    std::string shapes;
    for (const sdk::Dims& dims : sizes) {
      shapes += text(shapes.empty() ? "[" : ", [", join_text(dims, ","), "]");
    }
    return shapes.empty() ? "no inputs" : shapes;
  };
  hand_over("trace", "", [&] {
    std::string rows;
    const std::string arguments =
        sdk::trace_arguments({{"inputs", list()}, {"binding", std::to_string(number)}});
    sdk::append_trace_row(rows, {"compile", "bind sizes", sdk::thread_number(), begin, end},
                          arguments);
    return rows;
  });
  if (!host_.log_enabled(KILN_LOG_INFO)) return;
  const double milliseconds = std::chrono::duration<double>(end - begin).count() * 1e3;
  host_.log(KILN_LOG_INFO, "bind",
            text(label_, ": bound to inputs ", list(), " in ", in_column(milliseconds, 0, 2),
                 " ms; ", number == 1 ? "the first sizes" : text("new sizes, binding ", number)));
}

}  // namespace kiln::codegen
