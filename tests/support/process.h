// Runs programs as a user does, and returns their output and status.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace kiln::testing {

struct Outcome {
  int status = -1;   // as the shell sees it; 128 and more for a signal
  std::string text;  // standard output and error
};

/// Runs a line of sh.
inline Outcome run_shell(const std::string& command) {
  Outcome outcome;
  std::FILE* pipe = ::popen(("(" + command + ") 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer;
  while (const std::size_t read = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    outcome.text.append(buffer.data(), read);
  }
  outcome.status = WEXITSTATUS(::pclose(pipe));
  return outcome;
}

inline std::string last_line(const std::string& text) {
  const std::string cut = text.substr(0, text.find_last_not_of('\n') + 1);
  return cut.substr(cut.rfind('\n') + 1);
}

}  // namespace kiln::testing
