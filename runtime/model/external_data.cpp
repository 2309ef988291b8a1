// Opens the folders of a path one by one, so that neither links nor ".." lead out of the first.
#include "runtime/model/external_data.h"

#include "core/types/text.h"
#include "runtime/files/quoted_name.h"

#include <kiln/error.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace kiln::runtime {
namespace {

/// A file descriptor, closed by its owner; negative for none.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    close();
    number_ = std::exchange(other.number_, -1);
    return *this;
  }
  int number() const { return number_; }

 private:
  void close() const {
    if (number_ >= 0) ::close(number_);
  }
  int number_;
};

/// The place of data as the model gives it.
struct DataLocation {
  std::string_view model;  // its path
  std::string_view path;  // relative to the model's folder

  [[noreturn]] void reject(const std::string& reason) const {
    throw IoError("", "path", text(model, " keeps data in ", quoted_name(path), ": ", reason));
  }
};

/// Why a part of the path could not be opened; for a link with the advice how to do without.
std::string opening_failure(int folder, const std::string& part, int error) {
  struct stat status{};
  const bool is_link =
      ::fstatat(folder, part.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
  if (!is_link) return std::strerror(error);
  return "a symbolic link is not followed, as the model could read any file by it; 'cp -rL' copies "
         "a folder without links";
}

/// Opens the file one folder after the other, so that no link leads out of them.
Descriptor open_beneath(const std::string& folder, const DataLocation& location) {
  std::string_view rest = location.path;
  if (rest.empty() || rest.front() == '/' || rest.find('\0') != rest.npos) {
    location.reject("this is no relative path");
  }
  Descriptor file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file.number() < 0) location.reject(text(folder, ": ", std::strerror(errno)));
  while (true) {
    const std::size_t end = rest.find('/');
    const std::string part(rest.substr(0, end));
    if (part == "..") location.reject("the path leaves the folder of the model");
    const int kind = end == rest.npos ? 0 : O_DIRECTORY;
    if (!part.empty() && part != ".") {
      Descriptor next(::openat(file.number(), part.c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | kind));
      if (next.number() < 0) location.reject(opening_failure(file.number(), part, errno));
      file = std::move(next);
    }
    if (end == rest.npos) return file;
    rest.remove_prefix(end + 1);
  }
}

/// Returns the size of the file. Rejects one that may be another file of the user.
std::uint64_t checked_size(const Descriptor& file, const DataLocation& location) {
  struct stat status{};
  if (::fstat(file.number(), &status) != 0) location.reject(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) location.reject("this is no regular file");
  if (status.st_nlink != 1) {
    location.reject("the file has several names (hard links); 'cp' makes one with its own");
  }
  return static_cast<std::uint64_t>(status.st_size);
}

/// Rejects data of other than `size` bytes, and data that are not in the file.
void require_data(const onnx::ExternalData& data, std::uint64_t size, std::uint64_t file_size,
                  const DataLocation& location) {
  const auto offset = static_cast<std::uint64_t>(data.offset);
  const std::uint64_t left = file_size - std::min(offset, file_size);
  if (data.length && static_cast<std::uint64_t>(*data.length) != size) {
    location.reject(text("the tensor needs ", size, " bytes, but the model says ", *data.length));
  }
  if (size > left) {
    location.reject(
        text("bytes ", offset, " to ", offset + size, " are outside of its ", file_size, " bytes"));
  }
  if (!data.length && size != left) {
    location.reject(
        text("the tensor needs ", size, " bytes, but ", left, " follow offset ", offset));
  }
}

void read_bytes(const Descriptor& file, std::int64_t offset, std::span<std::byte> to,
                const DataLocation& location) {
  while (!to.empty()) {
    const ssize_t got = ::pread(file.number(), to.data(), to.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) location.reject(got < 0 ? std::strerror(errno) : "the file became shorter");
    offset += got;
    to = to.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace

ExternalFiles::ExternalFiles(const std::string& model) : model_(model) {
  const std::size_t slash = model.rfind('/');
  folder_ = slash == model.npos ? "." : model.substr(0, slash + 1);
}

std::span<const std::byte> ExternalFiles::read(const onnx::ExternalData& data, std::size_t size) {
  const DataLocation location{.model = model_, .path = data.location};
  const Descriptor file = open_beneath(folder_, location);
  require_data(data, size, checked_size(file, location), location);
  std::vector<std::byte>& bytes = read_.emplace_back(size);
  read_bytes(file, data.offset, bytes, location);
  return bytes;
}

}  // namespace kiln::runtime
