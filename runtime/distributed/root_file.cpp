// A file of the root travels in chunks; a rank whose file fails stays in the remaining transfers.
#include <kiln/distributed.h>

#include "core/k/base/call.h"
#include "core/types/memory_file.h"
#include "core/types/text.h"
#include "runtime/distributed/group.h"

#include <kiln/error.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace kiln::distributed {
namespace {

using runtime::distributed::Channel;
using runtime::distributed::HeadKind;
using runtime::distributed::kTransferChunk;
using runtime::distributed::Operation;

}  // namespace

struct RootFile::Impl {
  /// Closes a file at the end of its scope.
  struct OpenFile {
    explicit OpenFile(const char* path) : descriptor(::open(path, O_RDONLY | O_CLOEXEC)) {}
    ~OpenFile() {
      if (descriptor >= 0) ::close(descriptor);
    }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    const int descriptor;
  };

  std::optional<OpenFile> file;  // of the root; stays that file if the path is given to another
  std::string path, error;
  std::int64_t size = -1;  // negative: there is no file
  std::optional<MemoryFile> copy;
  std::vector<std::byte> chunk;  // of the root's file

  /// Opens the root's file, if there is one; sets `error` if it cannot be opened.
  void open() {
    file.emplace(path.c_str());
    struct stat status{};
    if (file->descriptor < 0 && (errno == ENOENT || errno == ENOTDIR)) return;
    if (file->descriptor < 0 || ::fstat(file->descriptor, &status) != 0) {
      return fail(text("cannot read ", path), errno);
    }
    size = status.st_size;
    chunk.resize(std::min(static_cast<std::size_t>(size), kTransferChunk));
  }
  /// Makes the file that receives the copy; sets `error` if it cannot.
  void open_copy() {
    copy.emplace("kiln file", 2);
    if (copy->descriptor() < 0) fail("no copy in memory", errno);
  }
  /// A path of the file in this process.
  std::string own_path() const {
    const int descriptor = copy ? copy->descriptor() : size >= 0 ? file->descriptor : -1;
    return descriptor < 0 ? path : text("/proc/self/fd/", descriptor);
  }

  /// Reads a chunk from the root's file, or stores one in the copy; sets `error` if it fails.
  void read(std::size_t offset, std::span<std::byte> chunk, int file) {
    while (!chunk.empty() && error.empty()) {
      const ssize_t count = ::pread(file, chunk.data(), chunk.size(), static_cast<off_t>(offset));
      if (count <= 0) fail(text("cannot read ", path), count < 0 ? errno : EIO);
      else advance(offset, chunk, count);
    }
  }
  void store(std::size_t offset, std::span<const std::byte> chunk) {
    while (!chunk.empty() && error.empty()) {
      const ssize_t count =
          ::pwrite(copy->descriptor(), chunk.data(), chunk.size(), static_cast<off_t>(offset));
      if (count <= 0) fail("no copy in memory", errno);
      else advance(offset, chunk, count);
    }
  }

  /// The size, then all chunks, from the root to the others.
  void receive(Channel& channel) {
    const auto given = channel.broadcast(0, std::as_bytes(std::span(&size, 1)));
    std::memcpy(&size, given.data(), sizeof size);
    if (size < 0) return;
    const auto total = static_cast<std::size_t>(size);
    for (std::size_t at = 0; at < total; at += kTransferChunk) {
      const std::size_t bytes = std::min(kTransferChunk, total - at);
      if (channel.place().rank == 0) {
        const std::span<std::byte> own = std::span(chunk).first(bytes);
        read(at, own, file->descriptor);
        channel.broadcast(0, own);
      } else {
        store(at, channel.receive_broadcast(0, bytes));
      }
    }
  }

 private:
  void fail(const std::string& what, int code) { error = text(what, ": ", std::strerror(code)); }

  template <class Chunk>
  static void advance(std::size_t& offset, Chunk& chunk, ssize_t count) {
    chunk = chunk.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::size_t>(count);
  }
};

RootFile::RootFile(const StringArgument& path, Where where) {
  api_call("RootFile", where, [&] {
    const Group group = world(where);
    auto impl = std::make_shared<Impl>();
    impl->path = path;
    const std::string function = Call::function();  // the outermost, such as Checkpoint::restore
    const auto require_no_error = [&] {
      if (!impl->error.empty()) throw IoError(function, "path", impl->error, where);
    };
    Operation operation(HeadKind::BroadcastVariables, function.c_str(), where);
    operation.bytes = kTransferChunk;
    operation.consequence = "no rank has the file";
    operation.attempt([&] {
      group.is_root() ? impl->open() : impl->open_copy();
      require_no_error();
    });
    group.impl().run(operation, [&](Channel& channel) {
      impl->receive(channel);
      require_no_error();
    });
    impl->chunk = {};
    impl->path = impl->own_path();
    impl_ = std::move(impl);
  });
}

bool RootFile::exists() const { return impl_->size >= 0; }
const std::string& RootFile::path() const& { return impl_->path; }

void run_together(const std::function<void()>& work, Where where) {
  api_call("run_together", where, [&] {
    const Group group = world(where);
    Operation operation(HeadKind::Barrier, Call::function().c_str(), where);
    operation.consequence = "what other ranks did stays";
    const std::uint64_t last_difference = group.impl().last_difference(operation);
    try {
      if (!work) Call::value_error("work", "work is an empty function");
      work();
    } catch (...) {
      operation.failure = std::current_exception();
      // In `work`, this rank called an operation while the others called this one, which has thrown
      // on them: they do not call it again.
      if (group.impl().last_difference(operation) != last_difference) throw;
    }
    group.impl().run(operation, [](Channel&) {});
  });
}

}  // namespace kiln::distributed
