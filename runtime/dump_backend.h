// The stages behind the boundary: whatever texts a backend hands over while it compiles.
#pragma once

#include "runtime/program.h"

namespace kiln::runtime {

struct BackendText {
  std::string stage;  // "kernels", "plan", "llvm-ir", "assembly", ...
  std::string name;   // of the thing within the stage; may be empty
  std::string bytes;
};

/// In the order in which they came. Throws what compiling throws.
std::vector<BackendText> backend_texts(const Program& program);

}  // namespace kiln::runtime
