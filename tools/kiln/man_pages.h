// Writes the manual pages kiln.1 and kiln-COMMAND.1 from the texts of --help.
#pragma once

#include "tools/examples/help_format.h"

#include <string>

namespace kiln::tool {

/// Returns the page of a program, or of one of its commands, as source of man(7).
std::string man_page(const CLI::App& app);

/// Writes the pages of a program and of its commands, but hidden ones, to a folder, created if
/// missing. Errors: IoError.
void write_man_pages(const CLI::App& program, const std::string& folder);

}  // namespace kiln::tool
