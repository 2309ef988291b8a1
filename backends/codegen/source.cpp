// Ops stand in for K functions where a program does not say what it was written as.
#include "backends/codegen/source.h"

#include "core/ops/op.h"
#include "core/types/text.h"

namespace kiln::codegen {

std::string source_of(const ir::Node& node) {
  const ir::Origin& origin = node.origin;
  const bool named = *origin.function != '\0';
  const std::string name = named ? origin.function : std::string(ir::def(node.op).name);
  if (!origin.where.known()) return name;
  return text(name, " at ", origin.where.file, ":", origin.where.line);
}

}  // namespace kiln::codegen
