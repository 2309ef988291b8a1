// The folder whose bin holds the running test program, and whose lib holds the backends: that of
// the build, or the folder of tools/gpu_test on another machine.
#pragma once

#include <filesystem>
#include <string>

namespace kiln::testing {

/// Absolute, without symbolic links. Any thread.
inline const std::string& build_folder() {
  static const std::string folder =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path().string();
  return folder;
}

}  // namespace kiln::testing
