// Selects the axes of a group from its flags.
#include "backends/codegen/fusion/fusion_plan.h"

namespace kiln::codegen {

std::vector<int> KernelGroup::axes(bool of_reduced) const {
  std::vector<int> list;
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    if (reduced[i] == of_reduced) list.push_back(static_cast<int>(i));
  }
  return list;
}

}  // namespace kiln::codegen
