// Another program that does the same work, asked for timings, one line each way:
//   it says first          ready NAME
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

class Peer {
 public:
  /// Starts `command` with /bin/sh. Throws IoError when it does not say that it is ready.
  explicit Peer(const std::string& command);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  const std::string& name() const { return name_; }
  /// Empty when it has no such row. Throws IoError when it ended or answers nonsense.
  std::optional<PeerAnswer> ask(const std::string& row, int threads, bool tiny);

 private:
  std::string read_line();
  void stop();

  std::string command_, name_, unread_;
  pid_t process_ = -1;
  int socket_ = -1;
};

}  // namespace kiln::bench
