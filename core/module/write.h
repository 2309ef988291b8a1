// Module to bytes.
#pragma once

#include "core/module/module.h"

namespace kiln::module {

struct Encoded {
  std::vector<std::byte> bytes;
  /// The large constants, when they are not embedded. They point into the module's graph.
  std::vector<SideConstant> constants;
};

struct WriteOptions {
  bool embed_constants = false;  ///< for files
  bool origins = true;           ///< source lines
};

/// Equal modules give equal bytes, whatever the process, its addresses and its ids.
Encoded write_module(const Module& module, const WriteOptions& options = {});

}  // namespace kiln::module
