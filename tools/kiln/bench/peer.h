// Another program that does the same work, asked for timings, one line each way:
//   it says first          ready NAME             library, version, settings
//   asked                  ROW THREADS full|tiny
//   it answers             SECONDS FORM...        seconds a call, and how it did it
//   or                     none REASON...         it has no such row
#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

namespace kiln::bench {

struct PeerAnswer {
  double seconds = 0;
  std::string form;
};

/// All processes of a peer are stopped (SIGSTOP) but while it starts and answers, so that no thread
/// of it that spins after its work disturbs other measurements.
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
  /// Empty when it has no such row. Throws IoError when it ended or answers nonsense.
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
