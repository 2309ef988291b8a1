// Compares constants: small ones by content, large ones by the identity of their buffer.
#include "core/ir/attrs.h"

namespace kiln::ir {

VariableState::~VariableState() = default;

bool ConstantData::operator==(const ConstantData& other) const {
  if (bytes == other.bytes) return true;
  if (!bytes || !other.bytes) return false;
  return bytes->size() <= kSmallConstant && *bytes == *other.bytes;
}

}  // namespace kiln::ir
