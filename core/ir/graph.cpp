// Lists the roots of a Graph in the order that passes and writers rely on.
#include "core/ir/graph.h"

namespace kiln::ir {

std::vector<Value> Graph::roots() const {
  std::vector<Value> all = outputs;
  for (const Update& update : updates) all.push_back(update.value);
  all.insert(all.end(), sizes.begin(), sizes.end());
  return all;
}

}  // namespace kiln::ir
