// Programs that the tests of the module write and read.
#pragma once

#include "core/module/module.h"

namespace kiln::test {

ir::Value placeholder(const char* name, ir::Type type);
ir::Value variable(const char* name, ir::Type type);
ir::Value constant_of(DType dtype, ir::Dims dims, const std::vector<std::uint64_t>& bits);

/// At least one node of each op, a name scope, symbolic sizes, nested scans, two equal names,
/// guards, updates, a constant outside of the module.
module::Module every_op_program();
/// x w + b with an update of w; names and lines are fixed.
module::Module small_program();
/// tanh of tanh .., in four scopes: two of one name in another one, none, and the outer one.
module::Module scoped_program();
/// Scans nested `depth` times.
module::Module nested_program(std::size_t depth);

}  // namespace kiln::test
