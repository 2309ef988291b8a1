// Chunks follow each other; a rank whose file fails stays in the remaining transfers.
#include "runtime/distributed/root_file.h"

#include "core/types/text.h"

#include <kiln/error.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace kiln::runtime::distributed {
namespace {

constexpr std::size_t kChunk = std::size_t{32} << 20;  // bytes

/// Closes a file at the end of its scope.
struct OpenFile {
  explicit OpenFile(const std::string& path)
      : descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (descriptor >= 0) ::close(descriptor);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  const int descriptor;
};

}  // namespace

RootFile::RootFile(Group& group, const char* function, Where where, const std::string& path)
    : path_(path) {
  const std::size_t rank = group.place().rank;
  struct stat status{};
  if (rank == 0 && ::stat(path.c_str(), &status) == 0) size_ = status.st_size;
  Operation operation(HeadKind::BroadcastVariables, function, where);
  operation.bytes = kChunk;
  if (rank != 0) {
    copy_.emplace("kiln checkpoint", 2);
    if (copy_->descriptor() < 0) {
      operation.failure = std::make_exception_ptr(
          IoError(function, "", text("no copy in memory: ", std::strerror(errno)), where));
    }
    path_ = text("/proc/self/fd/", copy_->descriptor());
  }
  group.run(operation, [&](Channel& channel) {
    receive(channel);
    if (!error_.empty()) throw IoError(function, "", error_, where);
  });
}

void RootFile::read(std::size_t offset, std::span<std::byte> chunk, int file) {
  while (!chunk.empty() && error_.empty()) {
    const ssize_t count = ::pread(file, chunk.data(), chunk.size(), static_cast<off_t>(offset));
    if (count <= 0) {
      error_ =
          text("cannot read ", path_, ": ", count < 0 ? std::strerror(errno) : "it has shrunk");
      return;
    }
    chunk = chunk.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::size_t>(count);
  }
}

void RootFile::store(std::size_t offset, std::span<const std::byte> chunk) {
  while (!chunk.empty() && error_.empty()) {
    const ssize_t count =
        ::pwrite(copy_->descriptor(), chunk.data(), chunk.size(), static_cast<off_t>(offset));
    if (count <= 0) {
      error_ = text("no copy in memory: ", std::strerror(errno));
      return;
    }
    chunk = chunk.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::size_t>(count);
  }
}

void RootFile::receive(Channel& channel) {
  const bool is_root = channel.place().rank == 0;
  const auto size = channel.broadcast(0, std::as_bytes(std::span(&size_, 1)));
  std::memcpy(&size_, size.data(), sizeof size_);
  if (!exists()) return;
  const auto total = static_cast<std::size_t>(size_);
  std::vector<std::byte> own(std::min(total, kChunk));
  const OpenFile file(is_root ? path_ : "/dev/null");
  for (std::size_t at = 0; at < total; at += kChunk) {
    const std::span<std::byte> chunk = std::span(own).first(std::min(kChunk, total - at));
    if (is_root) read(at, chunk, file.descriptor);
    const auto received = channel.broadcast(0, chunk);
    if (!is_root) store(at, received);
  }
}

}  // namespace kiln::runtime::distributed
