// Lowers values by all passes of the pipeline, or by one, for tests that look at the results.
#pragma once

#include "backends/codegen/host/loop_order/order_loops.h"
#include "backends/codegen/pipeline.h"

namespace kiln::codegen {

/// A library that takes every matmul.
class EveryMatmul final : public LibraryClaims {
 public:
  std::optional<std::string> rejection_of_matmul(const MatmulRequest&) const override {
    return std::nullopt;
  }
};

/// The program of these results for a CPU, which updates no variable. `library` may be null.
inline Program lowered(const std::vector<ir::Value>& arguments,
                       const std::vector<ir::Value>& results,
                       const LibraryClaims* library = nullptr) {
  Compilation compilation;
  compilation.arguments = arguments;
  compilation.results = results;
  for (const ir::Value& argument : arguments) {
    compilation.unchanged.push_back(argument.node->op == ir::Op::Variable);
  }
  compilation.library = library;
  compilation.loop_transform = order_loops;
  run_pipeline(compilation);
  return std::move(compilation.program);
}

/// The passes that change the graph: those before decide_claims.
inline std::span<const CodegenPass> graph_passes() {
  const std::span<const CodegenPass> all = pipeline();
  std::size_t count = 0;
  while (all[count].name != "decide_claims") ++count;
  return all.first(count);
}

/// The results after one pass. `updates`: positions in results and arguments. `unchanged`: see
/// Compilation.
inline std::vector<ir::Value> after(const CodegenPass& pass, const std::vector<ir::Value>& results,
                                    const LibraryClaims* library,
                                    const std::vector<ir::Value>& arguments = {},
                                    const std::vector<InputOutputAlias>& updates = {},
                                    const std::vector<bool>& unchanged = {}) {
  Compilation compilation;
  compilation.unchanged = unchanged;
  compilation.arguments = arguments;
  compilation.updates = updates;
  compilation.results = results;
  compilation.library = library;
  pass.run(compilation);
  return compilation.results;
}

/// The results after all passes that change the graph.
inline std::vector<ir::Value> rewritten(std::vector<ir::Value> results,
                                        const LibraryClaims* library = nullptr) {
  for (const CodegenPass& pass : graph_passes()) results = after(pass, results, library);
  return results;
}

}  // namespace kiln::codegen
