// A program that times the same rows with another library. Protocol, a line each:
//   peer, once started     ready NAME             library, version, settings
//   request                ROW THREADS full|tiny
//   answer                 SECONDS FORM...        seconds of a call, and the form of the work
//   or                     none REASON...         the peer has no such row
#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

namespace kiln::bench {

struct PeerAnswer {
  double seconds = 0;
  std::string form;
};

/// A peer program. Its processes are stopped (SIGSTOP) except while it starts and answers, so that
/// threads that spin after their work do not disturb other measurements.
class Peer {
 public:
  /// Starts `command` with /bin/sh in a process group of its own. Throws IoError.
  explicit Peer(const std::string& command);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// Reads the peer's first line. Throws IoError when that is not "ready NAME".
  void wait_until_ready();
  /// REQUIRES: wait_until_ready() returned.
  const std::string& name() const { return name_; }
  /// Asks for the time of a row; nullopt if the peer does not have it. Throws IoError if the peer
  /// ended or its answer is malformed.
  /// REQUIRES: wait_until_ready() returned.
  std::optional<PeerAnswer> ask(const std::string& row, int threads, bool tiny);

 private:
  std::string read_line();
  void signal_processes(int signal) const;

  std::string command_, name_, unread_;
  pid_t process_ = -1;
  int socket_ = -1;
};

}  // namespace kiln::bench
