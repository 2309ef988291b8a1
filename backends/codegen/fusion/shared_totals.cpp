// One sweep over the operands that counts the readers of each scalar.
#include "backends/codegen/fusion/shared_totals.h"

#include "backends/codegen/access/storage.h"
#include "core/ops/op.h"

namespace kiln::codegen {
namespace {

using ir::Node;
using ir::Value;

/// Readers of one shape that may join the kernel of a scalar: norms and softmax, with their
/// gradients, have fewer.
constexpr int kMaxReaders = 4;

/// Whether the node only moves elements of one operand.
bool moves(const Node& node) {
  return node.operands.size() == 1 &&
         (is_alias(node) || def(node).lowering == ir::Lowering::Movement);
}

/// The value whose elements `value` has.
const Value& before_moves(const Value& value) {
  const Value* source = &value;
  while (moves(*source->node)) source = &source->node->operands[0];
  return *source;
}

struct Readers {
  const ir::Dims* dims = nullptr;  // of the first reader
  int count = 0;
};

}  // namespace

ir::NodeSet shared_totals(const std::vector<const Node*>& order) {
  ir::NodeMap<Readers> readers;
  ir::NodeSet shared;
  for (const Node* node : order) {
    if (moves(*node)) continue;
    for (const Value& operand : node->operands) {
      if (operand.rank() == 0) continue;
      const Value& scalar = before_moves(operand);
      if (scalar.rank() != 0 || is_leaf(*scalar.node)) continue;
      Readers& known = readers[scalar.node.get()];
      if (!known.dims) known.dims = &operand.dims();
      if (++known.count > kMaxReaders || *known.dims != operand.dims()) {
        shared.insert(scalar.node.get());
      }
    }
  }
  return shared;
}

}  // namespace kiln::codegen
