// Dumps of a compilation. Texts are generated only for the stages that the host wants.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/codegen/inspect/compile_times.h"
#include "backends/codegen/pipeline.h"
#include "core/module/module.h"

namespace kiln::codegen {

class Dumps {
 public:
  /// `module`: of the source files whose paths are shortened; null: none are. REQUIRES: it
  /// outlives the object.
  Dumps(const sdk::Host& host, std::string label, const module::Module* module = nullptr)
      : host_(host), label_(std::move(label)), module_(module) {}

  bool wanted(std::string_view stage) const { return host_.dump_wanted(stage); }
  /// The text after a pass, if it has one.
  void pass(std::size_t position, const CodegenPass& pass, const Compilation& compilation) const;
  /// The stages claims, kernels and plan.
  void program(const Program& program) const;
  void compile_times(const CompileTimes& times) const;
  /// Logs and traces a new compilation.
  void compilation(const Program& program, const CompileTimes& times) const;
  /// Logs and traces the binding of a plan to the sizes of the inputs, which began at `begin`.
  /// `number`: of the binding, from 1.
  void binding(std::span<const sdk::Dims> sizes, std::uint64_t number,
               Clock::time_point begin) const;
  /// Dumps the text that `make()` returns, if the stage is wanted.
  template <class Text>
  void hand_over(std::string_view stage, std::string_view name, const Text& make) const {
    if (!wanted(stage)) return;
    const std::string bytes = listing(stage, make());
    host_.dump(label_, stage, 0, name, "text/plain", std::as_bytes(std::span(bytes)));
  }

 private:
  /// The text of a stage that is for people alone with short paths, any other text unchanged.
  std::string listing(std::string_view stage, std::string text) const;

  const sdk::Host& host_;
  std::string label_;
  const module::Module* module_;
};

}  // namespace kiln::codegen
