// The variables that make a program write files, as kiln doctor checks them.
#pragma once

#include "tools/environment/environment_page.h"

#include <string>

namespace kiln::tool {

/// Returns why KILN_RECORD, KILN_DUMP, KILN_TRACE or KILN_PROFILE cannot be used, in the words of a
/// run: a value of another form, an unknown stage, or a file or folder that cannot be written.
/// Empty: it can, or the variable is another one. Writes nothing.
std::string rejection_of(const SetVariable& variable);

}  // namespace kiln::tool
