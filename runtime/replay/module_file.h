// Reads module files.
#pragma once

#include "core/module/module.h"

#include <string>

namespace kiln::runtime {

/// Reads a module as text or bytes; the first bytes tell which. Throws IoError "<path> ..." or
/// "<path>:LINE:COLUMN: ...", also for text of more than kMaxTextBytes and for more than
/// kMaxModuleBytes.
module::Module read_module_file(const std::string& path);

}  // namespace kiln::runtime
