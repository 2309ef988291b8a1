// Nodes that a module file or the runtime makes have no line.
#include "core/ir/location.h"

#include "core/types/text.h"

namespace kiln::ir {

std::string location_of(const Origin& origin) {
  const Where& where = origin.where;
  return where.known() ? text(where.file, ":", where.line) : "";
}

std::string location_suffix(const Origin& origin) {
  return origin.where.known() ? text(" (", location_of(origin), ")") : "";
}

}  // namespace kiln::ir
