// The name is predictable, in a folder that all users share: the file must be a regular one of this
// user. It is appended to, as other JIT compilers of the process may write it, too.
#include "backends/cpu/perf_map.h"

#include "core/types/text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace kiln::cpu {
namespace {

/// Returns 0 or an error number.
int append(const std::string& path, const std::string& rows) {
  const int file = ::open(
      path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  if (file < 0) return errno;
  struct stat status{};
  int error = ::fstat(file, &status) == 0 ? 0 : errno;
  const bool is_own = S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
  if (error == 0 && !is_own) error = EPERM;
  // One write, so that the rows of several threads are not mixed.
  if (error == 0) {
    const ssize_t count = ::write(file, rows.data(), rows.size());
    const bool is_whole = count == static_cast<ssize_t>(rows.size());
    if (!is_whole) error = count < 0 ? errno : ENOSPC;
  }
  ::close(file);
  return error;
}

}  // namespace

void append_to_perf_map(const std::string& rows, const sdk::Host& host) {
  const std::string path = text("/tmp/perf-", ::getpid(), ".map");
  const int error = append(path, rows);
  static std::atomic<bool> has_warned{false};
  if (error == 0 || has_warned.exchange(true)) return;
  host.log(KILN_LOG_WARNING, "perf",
           text("cannot write ", path, ": ", std::strerror(error),
                "; perf will not know the names of kernels"));
}

}  // namespace kiln::cpu
