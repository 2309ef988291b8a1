// Running a part of a test in another process.
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

/// The status with which a forked child ends that runs `action` and then leaves through exit; minus
/// the signal that killed it. It has a minute.
template <class Action>
int in_child(const Action& action) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    std::exit(action());
  }
  return status_of(child);
}

/// The same for a new process that runs this program's hidden test `tag` with one more variable in
/// its environment; what it prints is lost.
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
