// Checks by its ELF header whether a file can be a shared library of this process.
#pragma once

#include <string>

namespace kiln::cuda::api {

/// The reason for a file that does not exist.
inline constexpr const char* kNoSuchFile = "no such file";

/// Returns the reason why the dynamic loader cannot load the file: kNoSuchFile, unreadable, not an
/// ELF file, another architecture, truncated. Empty: found none.
std::string reason_not_loadable(const std::string& path);

}  // namespace kiln::cuda::api
