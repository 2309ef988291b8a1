// What can be read off a shared library without loading it.
#pragma once

#include <string>

namespace kiln::runtime {

/// Why the file cannot be loaded here, or nothing: not ELF, for another machine, not a shared
/// library, or needing a sanitizer's run time, which would end this process.
std::string refusal_of_elf(const std::string& path);

}  // namespace kiln::runtime
