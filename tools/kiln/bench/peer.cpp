// A socket pair rather than pipes: writing to a program that has ended is an error, not a signal.
#include "tools/kiln/bench/peer.h"

#include "core/types/text.h"

#include <kiln/error.h>

#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>

extern char** environ;

namespace kiln::bench {
namespace {

[[noreturn]] void fail(const std::string& command, const std::string& message) {
  throw IoError("kiln bench", "--peer", text("peer '", command, "' ", message));
}

pid_t start(const std::string& command, int socket) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, socket, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::string shell = "sh", option = "-c", line = command;
  char* arguments[] = {shell.data(), option.data(), line.data(), nullptr};
  pid_t process = -1;
  const int error = posix_spawn(&process, "/bin/sh", &actions, &attributes, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) fail(command, "cannot be started");
  return process;
}

}  // namespace

Peer::Peer(const std::string& command) : command_(command) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    fail(command, "cannot be given a socket");
  }
  socket_ = ends[0];
  try {
    process_ = start(command, ends[1]);
    ::close(ends[1]);
  } catch (...) {
    ::close(ends[1]);
    ::close(socket_);
    throw;
  }
}

Peer::~Peer() {
  signal_processes(SIGCONT);
  ::close(socket_);  // the peer reads the end of its input
  ::waitpid(process_, nullptr, 0);
}

void Peer::signal_processes(int signal) const { ::kill(-process_, signal); }

void Peer::wait_until_ready() {
  std::istringstream line(read_line());
  std::string word;
  if (!(line >> word) || word != "ready" || !std::getline(line >> std::ws, name_)) {
    fail(command_, text("printed '", line.str(), "' instead of 'ready NAME'"));
  }
  signal_processes(SIGSTOP);
}

std::string Peer::read_line() {
  for (;;) {
    const std::size_t end = unread_.find('\n');
    if (end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    char buffer[512];
    const ssize_t count = ::recv(socket_, buffer, sizeof buffer, 0);
    if (count <= 0) fail(command_, "exited");
    unread_.append(buffer, static_cast<std::size_t>(count));
  }
}

std::optional<PeerAnswer> Peer::ask(const std::string& row, int threads, bool tiny) {
  const std::string request = text(row, " ", threads, tiny ? " tiny" : " full", "\n");
  signal_processes(SIGCONT);
  const ssize_t sent = ::send(socket_, request.data(), request.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(request.size())) fail(command_, "exited");
  const std::string answer = read_line();
  signal_processes(SIGSTOP);
  if (answer.rfind("none", 0) == 0) return std::nullopt;
  std::istringstream line(answer);
  line.imbue(std::locale::classic());
  PeerAnswer read;
  if (!(line >> read.seconds) || !(read.seconds > 0)) {
    fail(command_, text("answered '", answer, "' for row ", row));
  }
  std::getline(line >> std::ws, read.form);
  return read;
}

}  // namespace kiln::bench
