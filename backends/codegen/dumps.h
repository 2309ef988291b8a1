// Dumps of a compilation. Texts are generated only for the stages that the host wants.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/codegen/inspect/compile_times.h"
#include "backends/codegen/pipeline.h"

namespace kiln::codegen {

class Dumps {
 public:
  Dumps(const sdk::Host& host, std::string label) : host_(host), label_(std::move(label)) {}

  bool wanted(std::string_view stage) const { return host_.dump_wanted(stage); }
  /// The text after a pass, if it has one.
  void pass(std::size_t position, const CodegenPass& pass, const Compilation& compilation) const;
  /// The stages claims, kernels and plan.
  void program(const Program& program) const;
  void compile_times(const CompileTimes& times) const;
  /// Dumps the text that `make()` returns, if the stage is wanted.
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
