// Whether a file can be a shared library of this process, judged by its ELF header.
#pragma once

#include <string>

namespace kiln::cuda::api {

/// Why the dynamic loader cannot load the file: no such file, unreadable, no ELF file, another
/// architecture. Empty where nothing speaks against it.
std::string reason_not_loadable(const std::string& path);

}  // namespace kiln::cuda::api
