// Runs a part of a test in another process.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace kiln::testing {

inline int status_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// Runs `action` in a forked child, which has a minute and then leaves through exit. Returns its
/// exit status, or minus the signal that killed it.
template <class Action>
int in_child(const Action& action) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    std::exit(action());
  }
  return status_of(child);
}

/// Runs this program's hidden test `tag` in a new process with one more environment variable, and
/// discards its output. Returns as in_child does.
inline int in_new_process(const char* tag, const char* variable, const char* value) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(300);
    ::setenv(variable, value, 1);
    ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
    ::execl("/proc/self/exe", "test", tag, static_cast<char*>(nullptr));
    ::_exit(127);
  }
  return status_of(child);
}

}  // namespace kiln::testing
