// Opens folders one by one, so that neither links nor ".." lead out of the first.
#include "runtime/model/external_data.h"

#include "core/types/text.h"
#include "runtime/files/quoted_name.h"

#include <kiln/error.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace kiln::runtime {
namespace {

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

struct Reading {
  std::string model;     // for messages
  std::string_view location;

  [[noreturn]] void fail(const std::string& reason) const {
    throw IoError("", "path", text(model, " keeps data in ", quoted_name(location), ": ", reason));
  }
};

/// Opens the file one folder after the other, so that no link leads out of them.
Descriptor open_beneath(const Reading& reading, const std::string& folder) {
  std::string_view rest = reading.location;
  if (rest.empty() || rest.front() == '/' || rest.find('\0') != rest.npos) {
    reading.fail("this is no relative path");
  }
  Descriptor at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (true) {
    const std::size_t end = rest.find('/');
    const std::string part(rest.substr(0, end));
    if (part == "..") reading.fail("the path leaves the folder of the model");
    const int kind = end == rest.npos ? 0 : O_DIRECTORY;
    if (!part.empty() && part != ".") {
      at = Descriptor(::openat(at.number(), part.c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | kind));
      if (at.number() < 0) {
        reading.fail(errno == ELOOP ? "a symbolic link is not followed" : std::strerror(errno));
      }
    }
    if (end == rest.npos) return at;
    rest.remove_prefix(end + 1);
  }
}

}  // namespace

ExternalFiles::ExternalFiles(const std::string& model) : model_(model) {
  const std::size_t slash = model.rfind('/');
  folder_ = slash == model.npos ? "." : model.substr(0, slash + 1);
}

std::span<const std::byte> ExternalFiles::read(const onnx::ExternalData& data, std::size_t size) {
  const Reading reading{model_, data.location};
  const Descriptor file = open_beneath(reading, folder_);
  struct stat status{};
  if (::fstat(file.number(), &status) != 0) reading.fail(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) reading.fail("this is no regular file");
  if (status.st_nlink != 1) reading.fail("the file has several names (hard links)");
  const std::int64_t length = data.length.value_or(status.st_size - data.offset);
  if (length < 0 || static_cast<std::size_t>(length) != size) {
    reading.fail(text("the tensor needs ", size, " bytes, but the model says ", length));
  }
  if (data.offset > status.st_size || length > status.st_size - data.offset) {
    reading.fail(text("bytes ", data.offset, " to ", data.offset + length, " are outside of its ",
                      status.st_size, " bytes"));
  }
  std::vector<std::byte>& bytes = read_.emplace_back(size);
  std::size_t done = 0;
  while (done < size) {
    const auto offset = static_cast<off_t>(data.offset) + static_cast<off_t>(done);
    const ssize_t got = ::pread(file.number(), bytes.data() + done, size - done, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) reading.fail(got < 0 ? std::strerror(errno) : "the file became shorter");
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace kiln::runtime
