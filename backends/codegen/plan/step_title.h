// Titles of steps, for traces.
#pragma once

#include "backends/codegen/plan/plan.h"

#include <string>

namespace kiln::codegen {

struct StepTitle {
  std::string name;    // "k0_tanh_line9", "matmul dot"
  std::string source;  // as source_of(): "dot at model.cpp:12"; empty for a copy
};

/// Returns the title of a step: its kernel, or the kind of step and the K function.
StepTitle title_of(const Program& program, const Step& step);

}  // namespace kiln::codegen
