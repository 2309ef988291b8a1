// Redirects output to memory files (memfd_create) instead of pipes, which the parent would have to
// drain while the program runs.
#include "backends/cuda/api/child_process.h"

#include "core/types/memory_file.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

namespace kiln::cuda::api {
namespace {

/// Redirects the standard streams, unblocks all signals, and restores the default actions of
/// SIGPIPE and SIGCHLD.
class SpawnSettings {
 public:
  SpawnSettings(const MemoryFile& output, const MemoryFile& errors) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, output.descriptor(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, errors.descriptor(), STDERR_FILENO);
    ::posix_spawnattr_init(&attributes_);
    sigset_t signals;
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes_, &signals);
    for (const int one : {SIGPIPE, SIGCHLD}) ::sigaddset(&signals, one);
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSettings() {
    ::posix_spawnattr_destroy(&attributes_);
    ::posix_spawn_file_actions_destroy(&actions_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  /// 0, or an error number.
  int spawn(const std::string& path, const std::vector<std::string>& arguments,
            pid_t& child) const {
    std::vector<char*> list{const_cast<char*>(path.c_str())};
    for (const std::string& one : arguments) list.push_back(const_cast<char*>(one.c_str()));
    list.push_back(nullptr);
    return ::posix_spawn(&child, path.c_str(), &actions_, &attributes_, list.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

/// Waits for the child; kills it after `limit` and returns false. `status`: as of waitpid(2).
bool wait_for(pid_t child, std::chrono::milliseconds limit, int& status) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return true;
    // The status is lost: SIGCHLD is ignored, or another thread has waited for the child.
    if (ended < 0 && errno != EINTR) return status = 0, true;
    if (std::chrono::steady_clock::now() >= end) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  ::kill(child, SIGKILL);
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return false;
}

}  // namespace

ChildOutcome run_child(const std::string& path, const std::vector<std::string>& arguments,
                       std::chrono::milliseconds limit) {
  ChildOutcome outcome;
  const MemoryFile output("kiln", STDERR_FILENO), errors("kiln", STDERR_FILENO);
  if (output.descriptor() < 0 || errors.descriptor() < 0) {
    outcome.failure = std::string("cannot store its output in memory: ") + std::strerror(errno);
    return outcome;
  }
  pid_t child = 0;
  const int error = SpawnSettings(output, errors).spawn(path, arguments, child);
  if (error != 0) {
    outcome.failure = std::string("cannot be run: ") + std::strerror(error);
    return outcome;
  }
  int status = 0;
  if (!wait_for(child, limit, status)) outcome.failure = "does not end";
  outcome.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  outcome.output = output.contents();
  outcome.errors = errors.contents();
  return outcome;
}

}  // namespace kiln::cuda::api
