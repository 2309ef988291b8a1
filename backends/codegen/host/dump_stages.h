// What a compiled program offers for looking inside, handed over to the host; a stage that nobody
// wants costs one question.
#pragma once

#include "backends/codegen/host/run.h"
#include "backends/codegen/host/timings.h"
#include "backends/codegen/inspect/compile_times.h"
#include "backends/codegen/pipeline.h"
#include "backends/codegen/plan/bind/memory_report.h"

namespace kiln::codegen {

class Dumps {
 public:
  Dumps(const sdk::Host& host, std::string label) : host_(host), label_(std::move(label)) {}

  bool wanted(std::string_view stage) const { return host_.dump_wanted(stage); }
  /// What a step of the pipeline left, where it has a text.
  void step(std::size_t position, const PipelineStep& step, const Compilation& compilation) const;
  /// claims, kernels, plan, and the memory plan without sizes.
  void program(const Program& program) const;
  /// The memory plan and the library's choices for one tuple of sizes; the first has number 1.
  void binding(const Program& program, const BoundPlan& bound, std::uint64_t number) const;
  void compile_times(const CompileTimes& times) const;
  void call_times(const CallTimes& times, const Program& program) const;
  /// `make()` gives the text, if it is wanted.
  template <class Text>
  void hand_over(std::string_view stage, std::string_view name, const Text& make) const {
    if (!wanted(stage)) return;
    const std::string bytes = make();
    host_.dump(label_, stage, 0, name, "text/plain", std::as_bytes(std::span(bytes)));
  }

 private:
  const sdk::Host& host_;
  std::string label_;
};

}  // namespace kiln::codegen
