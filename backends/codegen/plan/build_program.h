// From the results of a graph to a program: units, kernels and the steps that run them.
#pragma once

#include "backends/codegen/plan/plan.h"

namespace kiln::codegen {

/// `library` may be null.
Program build_program(const std::vector<ir::Value>& arguments,
                      const std::vector<ir::Value>& results, const SizeNames& names,
                      const ProductLibrary* library);

}  // namespace kiln::codegen
