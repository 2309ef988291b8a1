// A file in memory (memfd_create) for the output of a child process, which unlike a pipe needs no
// reader while the child runs.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>

namespace kiln {

class MemoryFile {
 public:
  /// `name`: for /proc. The descriptor is above `reserved`, even if descriptors up to that one are
  /// closed: a child redirects those one after the other and would overwrite it.
  MemoryFile(const char* name, int reserved) {
    const int original = ::memfd_create(name, MFD_CLOEXEC);
    if (original < 0) return;
    file_ = ::fcntl(original, F_DUPFD_CLOEXEC, reserved + 1);
    ::close(original);
  }
  ~MemoryFile() {
    if (file_ >= 0) ::close(file_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  /// -1 if the file could not be made; errno has the reason.
  int descriptor() const { return file_; }

  /// All bytes that have been written; fewer if reading fails.
  std::string contents() const {
    std::string all;
    std::array<char, 1 << 16> buffer;
    for (;;) {
      const ssize_t count =
          ::pread(file_, buffer.data(), buffer.size(), static_cast<off_t>(all.size()));
      if (count <= 0) return all;
      all.append(buffer.data(), static_cast<std::size_t>(count));
    }
  }

 private:
  int file_ = -1;
};

}  // namespace kiln
