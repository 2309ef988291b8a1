// Checks of a shared library without loading it.
#pragma once

#include <string>

namespace kiln::runtime {

/// Returns the reason to reject the file, or "": not ELF, for another machine, not a shared
/// library, truncated, or linked with a sanitizer's runtime, which would abort this process.
std::string elf_rejection(const std::string& path);

}  // namespace kiln::runtime
