// Texts of the errors.
#include "backends/codegen/bind/step_failure.h"

#include "core/ops/op.h"
#include "core/types/text.h"

namespace kiln::codegen {

sdk::Failure step_failure(const module::Module& module, const ir::Node& node, std::uint32_t code,
                          const std::string& text) {
  const ir::Origin& origin = module.origin_of(node);
  std::string source = kiln::text(" (op ", def(node).name);
  if (*origin.function != '\0' && origin.function != def(node).name) {
    source += kiln::text(" of ", origin.function);
  }
  if (origin.where.known()) {
    source += kiln::text(" at ", origin.where.file, ":", origin.where.line);
  }
  return {code, text + source + ")"};
}

sdk::Failure index_failure(const module::Module& module, const Program& program,
                           const KernelStep& step, std::int64_t access, std::int64_t index,
                           std::int64_t limit) {
  const BuiltKernel& built = program.kernels[static_cast<std::size_t>(step.kernel)];
  const ir::Node* node = built.access_nodes[static_cast<std::size_t>(access)];
  return step_failure(module, *node, KILN_CODE_OUT_OF_RANGE,
                      text("index ", index, " is outside of an axis of size ", limit));
}

sdk::Failure empty_axis_failure(const module::Module& module, const ir::Node& node) {
  return step_failure(module, node, KILN_CODE_INVALID_ARGUMENT,
                      "arg_max over an axis without elements");
}

}  // namespace kiln::codegen
