#include "core/ir/graph.h"

namespace kiln::ir {

std::vector<Value> Graph::roots() const {
  std::vector<Value> all = outputs;
  for (const Update& update : updates) all.push_back(update.value);
  return all;
}

}  // namespace kiln::ir
