// The group of the process, for code that is below the public functions.
#pragma once

#include <memory>

namespace kiln::runtime::distributed {

class Group;

/// The group of all ranks, between init() and the end of its Session; else null.
std::shared_ptr<Group> current_world();

}  // namespace kiln::runtime::distributed
