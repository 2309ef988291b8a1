// Whether a file can be a shared library of this process, judged by its ELF header.
#pragma once

#include <string>

namespace kiln::cuda::api {

/// The reason why the dynamic loader cannot load the file: no such file, unreadable, not an ELF
/// file, another architecture, truncated. Empty: no reason was found.
std::string reason_not_loadable(const std::string& path);

}  // namespace kiln::cuda::api
