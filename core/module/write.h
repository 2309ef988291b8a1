// Writes the binary form.
#pragma once

#include "core/module/module.h"

namespace kiln::module {

struct Encoded {
  std::vector<std::byte> bytes;
  /// The large constants unless they are embedded. They point into the module's graph.
  std::vector<SideConstant> constants;
};

struct WriteOptions {
  bool embed_constants = false;  ///< for files
  bool origins = true;           ///< source lines
};

/// Writes a module. Modules of equal structure give equal bytes in every process. Throws ValueError
/// when lambdas are nested more than kMaxNesting deep.
Encoded write_module(const Module& module, const WriteOptions& options = {});

}  // namespace kiln::module
