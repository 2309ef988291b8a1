// The input, the output and the messages of `dot` are files in memory, so that nothing has to be
// read while it runs.
#include "tools/kiln/graphviz.h"

#include "core/types/escaped_text.h"
#include "core/types/memory_file.h"
#include "core/types/text.h"

#include <kiln/error.h>

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

void require_file(const MemoryFile& file) {
  if (file.descriptor() >= 0) return;
  throw IoError("kiln graph", "", text("no file in memory can be made: ", std::strerror(errno)));
}

void write_all(const MemoryFile& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file.descriptor(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      throw IoError("kiln graph", "", text("no memory for the picture: ", std::strerror(errno)));
    }
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  ::lseek(file.descriptor(), 0, SEEK_SET);
}

/// Waits for the process. Returns why it failed; empty: it exited with status 0.
std::string wait_for(pid_t child, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() >= end) {
      ::kill(child, SIGKILL);
      while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
      return text("has not ended after ", std::chrono::duration<double>(limit).count(),
                  " s (--seconds)");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  if (WIFSIGNALED(status)) return text("crashed with signal ", WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : text("exited with status ", WEXITSTATUS(status));
}

std::string first_line(const std::string& lines) {
  return escaped_text(lines.substr(0, lines.find('\n')));
}

}  // namespace

Layout lay_out(const std::string& picture, const std::string& format,
               std::chrono::milliseconds limit) {
  const MemoryFile input("kiln graph", STDERR_FILENO), output("kiln graph", STDERR_FILENO),
      messages("kiln graph", STDERR_FILENO);
  for (const MemoryFile* file : {&input, &output, &messages}) require_file(*file);
  write_all(input, picture);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input.descriptor(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output.descriptor(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, messages.descriptor(), STDERR_FILENO);
  std::string program = "dot", option = "-T" + format;
  char* const words[] = {program.data(), option.data(), nullptr};
  // If the parent made this program ignore SIGCHLD, waitpid() would not tell how a process ended.
  ::signal(SIGCHLD, SIG_DFL);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, "dot", &actions, nullptr, words, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) {
    return {"", "PATH has no program 'dot': install Graphviz, the Debian package graphviz"};
  }
  if (error != 0) return {"", text("'dot' cannot be started: ", std::strerror(error))};
  const std::string failure = wait_for(child, limit);
  if (failure.empty()) return {output.contents(), ""};
  const std::string message = first_line(messages.contents());
  return {"", text("'dot' ", failure, message.empty() ? "" : ": ", message)};
}

}  // namespace kiln::tool
