// Words the errors and appends the source of the node.
#include "backends/codegen/bind/step_failure.h"

#include "core/ir/scope.h"
#include "core/ops/convert.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {

namespace {

/// `op`: the name of the node's op, or of the part of its expansion that failed.
sdk::Failure op_failure(const ir::Origin& origin, std::string_view op, std::uint32_t code,
                        const std::string& text) {
  return {code, kiln::text(text, " (", op_text(origin, op), ")")};
}

/// `index`: an element of the operand `indices` of the node.
std::string outside_text(const ir::Node& node, std::int64_t index, std::int64_t limit) {
  const auto& names = def(node).operands;
  const auto found = std::find(names.begin(), names.end(), "indices") - names.begin();
  const auto operand = static_cast<std::size_t>(found);
  const bool has_indices = operand < node.operands.size();
  const DType dtype = has_indices ? node.operands[operand].dtype() : DType::Int64;
  return ir::outside_text(dtype, index, limit);
}

}  // namespace

sdk::Failure step_failure(const module::Module& module, const ir::Node& node, std::uint32_t code,
                          const std::string& text) {
  return op_failure(module.origin_of(node), def(node).name, code, text);
}

sdk::Failure row_failure(const module::Module& module, const RowUpdate& update, std::int64_t index,
                         std::int64_t rows) {
  return op_failure(module.origin_of(*update.node), def(ir::Op::ScatterAdd).name,
                    KILN_CODE_OUT_OF_RANGE, outside_text(*update.node, index, rows));
}

sdk::Failure index_failure(const module::Module& module, const Program& program,
                           const KernelStep& step, std::int64_t access, std::int64_t index,
                           std::int64_t limit) {
  const BuiltKernel& built = program.kernels[step.kernel];
  const ir::Node* node = built.access_nodes[AccessId(static_cast<int>(access))];
  return step_failure(module, *node, KILN_CODE_OUT_OF_RANGE, outside_text(*node, index, limit));
}

sdk::Failure empty_axis_failure(const module::Module& module, const ir::Node& node) {
  return step_failure(module, node, KILN_CODE_INVALID_ARGUMENT,
                      "arg_max over an axis without elements");
}

}  // namespace kiln::codegen
