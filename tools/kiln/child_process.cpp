// Polls: no signal handler of this process is needed for the time limit.
#include "tools/kiln/child_process.h"

#include "core/types/text.h"

#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <thread>

namespace kiln::tool {
namespace {

std::string seconds_of(std::chrono::milliseconds limit) {
  return text(std::chrono::duration<double>(limit).count(), " s");
}

}  // namespace

std::string wait_for(pid_t child, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() >= end) {
      ::kill(child, SIGKILL);
      while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
      return "hangs: it has not ended after " + seconds_of(limit);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const char* const name = ::sigabbrev_np(signal);
    return text("crashes with ", name == nullptr ? "" : text("SIG", name, " "), "(signal ", signal,
                ")");
  }
  return WEXITSTATUS(status) == 0 ? "" : text("exits with status ", WEXITSTATUS(status));
}

}  // namespace kiln::tool
