// Visits every reachable node, then the nodes of its bodies.
#include "backends/codegen/graph/check_sizes.h"

#include "backends/codegen/inspect/source.h"
#include "core/ir/traverse.h"
#include "core/types/text.h"

#include <kiln/error.h>

namespace kiln::codegen {
namespace {

bool is_countable(const ir::Type& type) {
  auto bytes = static_cast<std::int64_t>(dtype_bytes(type.dtype));
  bool fits = true;
  for (const ir::Dim& dim : type.dims) {
    if (!dim.is_static()) return true;
    if (dim.value() == 0) return true;
    fits = fits && !__builtin_mul_overflow(bytes, dim.value(), &bytes);
  }
  return fits;
}

}  // namespace

void require_countable(std::span<const ir::Value> roots) {
  for (const ir::Node* node : ir::topological_order(roots)) {
    for (const ir::Type& type : node->types) {
      if (is_countable(type)) continue;
      throw OutOfMemory(
          "", "",
          text("no memory for ", type, ", which is more than 2^63 bytes (", source_of(*node), ")"));
    }
    ir::for_each_lambda(*node, [](const ir::Lambda& lambda) { require_countable(lambda.results); });
  }
}

}  // namespace kiln::codegen
