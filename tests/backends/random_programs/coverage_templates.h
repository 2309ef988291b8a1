// Programs that are written so that a pass, an epilogue or a library call has something to do.
#pragma once

#include "tests/backends/random_programs/program.h"

namespace kiln::testing {

struct Template {
  const char* name;
  Program (*make)();
};

const std::vector<Template>& coverage_templates();

}  // namespace kiln::testing
