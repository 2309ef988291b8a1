// Polls: no signal handler of this process is needed for the time limit.
#include "tools/kiln/child_process.h"

#include "core/types/text.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

extern char** environ;

namespace kiln::tool {
namespace {

std::string seconds_of(std::chrono::milliseconds limit) {
  return text(std::chrono::duration<double>(limit).count(), " s");
}

std::vector<char*> pointers_of(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Waits until the process has ended. Returns its status as waitpid() has it.
int end_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

}  // namespace

std::vector<std::string> variables_with(const std::string& setting, std::string_view replaced) {
  std::vector<std::string> variables{setting};
  for (char** one = environ; *one != nullptr; ++one) {
    if (!std::string_view(*one).starts_with(replaced)) variables.emplace_back(*one);
  }
  return variables;
}

int start_child(const ChildCommand& command, pid_t& child) {
  // If the parent made this program ignore SIGCHLD, waitpid() would not tell how a process ended.
  ::signal(SIGCHLD, SIG_DFL);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const auto& [own, of_child] : command.descriptors) {
    ::posix_spawn_file_actions_adddup2(&actions, own, of_child);
  }
  const std::vector<char*> words = pointers_of(command.words);
  const std::vector<char*> variables = pointers_of(command.variables);
  const int error = ::posix_spawnp(&child, words[0], &actions, nullptr, words.data(),
                                   command.variables.empty() ? environ : variables.data());
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

std::string wait_for(pid_t child, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() >= end) {
      ::kill(child, SIGKILL);
      end_of(child);
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

int wait_for_status(pid_t child) {
  const auto interrupt = ::signal(SIGINT, SIG_IGN);
  const auto quit = ::signal(SIGQUIT, SIG_IGN);
  const int status = end_of(child);
  ::signal(SIGINT, interrupt);
  ::signal(SIGQUIT, quit);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace kiln::tool
