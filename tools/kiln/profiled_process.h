// Runs a program whose functions of Kiln record profiles (KILN_PROFILE).
#pragma once

#include <kiln/profile.h>

#include <string>
#include <vector>

namespace kiln::tool {

struct ProfiledProcess {
  int status = 0;  // as a shell has it: 128 and more for a signal
  std::vector<Profile> profiles;  // of its functions and of those of its children, slowest first
};

/// Runs the program, found in PATH, with its arguments, and waits for it. It has this process'
/// input and output. Throws IoError if it cannot be started.
ProfiledProcess run_profiled(const std::vector<std::string>& words);

/// Reads a file of profiles, one a line. Slowest first. Throws IoError.
std::vector<Profile> read_profiles(const std::string& path);

}  // namespace kiln::tool
