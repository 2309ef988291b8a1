// Compares the file's ELF header with the one of the running program.
#include "backends/cuda/api/elf_file.h"

#include "core/types/at.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>

namespace kiln::cuda::api {
namespace {

/// The minimum file size for its PT_LOAD segments, saturated; 0 if its headers cannot be read.
std::uint64_t needed_bytes(int descriptor) {
  Elf64_Ehdr header;
  if (::pread(descriptor, &header, sizeof header, 0) != sizeof header) return 0;
  std::uint64_t end = 0;
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    const std::uint64_t offset = header.e_phoff + std::uint64_t{header.e_phentsize} * at(i);
    if (::pread(descriptor, &segment, sizeof segment, static_cast<off_t>(offset)) !=
        sizeof segment) {
      return 0;
    }
    if (segment.p_type != PT_LOAD) continue;
    std::uint64_t segment_end = 0;
    if (__builtin_add_overflow(segment.p_offset, segment.p_filesz, &segment_end)) return UINT64_MAX;
    end = std::max(end, segment_end);
  }
  return end;
}

/// The header fields that have the same offsets in 32-bit and 64-bit files.
struct ElfStart {
  unsigned char ident[EI_NIDENT];
  std::uint16_t type;
  std::uint16_t machine;
};

class ScopedDescriptor {
 public:
  explicit ScopedDescriptor(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~ScopedDescriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  ScopedDescriptor(const ScopedDescriptor&) = delete;
  ScopedDescriptor& operator=(const ScopedDescriptor&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

std::string text_of_errno(int error) { return std::generic_category().message(error); }

std::optional<ElfStart> read_start(int descriptor) {
  ElfStart start;
  const ssize_t count = ::read(descriptor, &start, sizeof start);
  if (count != static_cast<ssize_t>(sizeof start)) return std::nullopt;
  if (std::memcmp(start.ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  return start;
}

std::optional<ElfStart> own_start() {
  const ScopedDescriptor program("/proc/self/exe");
  if (program.get() < 0) return std::nullopt;
  return read_start(program.get());
}

std::string bits_of(const ElfStart& start) {
  return start.ident[EI_CLASS] == ELFCLASS64 ? "64" : "32";
}

}  // namespace

std::string reason_not_loadable(const std::string& path) {
  const ScopedDescriptor file(path);
  if (file.get() < 0 && errno == ENOENT) {
    struct stat link;
    return ::lstat(path.c_str(), &link) == 0 ? "a symbolic link to no file" : kNoSuchFile;
  }
  if (file.get() < 0) return "cannot be read: " + text_of_errno(errno);
  struct stat status;
  if (::fstat(file.get(), &status) != 0) return "cannot be read: " + text_of_errno(errno);
  if (!S_ISREG(status.st_mode)) return "not a regular file";
  const std::optional<ElfStart> start = read_start(file.get());
  if (!start) return "not an ELF file";
  const std::optional<ElfStart> own = own_start();
  if (!own) return "";
  if (start->ident[EI_CLASS] != own->ident[EI_CLASS]) {
    return "a " + bits_of(*start) + "-bit library, but this process is " + bits_of(*own) + "-bit";
  }
  if (start->machine != own->machine || start->ident[EI_DATA] != own->ident[EI_DATA]) {
    return "a library of another architecture (ELF machine " + std::to_string(start->machine) +
           ", but this process is " + std::to_string(own->machine) + ")";
  }
  // The loader maps files without reading them: a truncated one would raise SIGBUS later.
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  const std::uint64_t needed = needed_bytes(file.get());
  if (needed == 0) return "cut off: its program headers are missing";
  if (bytes < needed) {
    return "cut off: it has " + std::to_string(bytes) + " bytes and needs " +
           std::to_string(needed);
  }
  return "";
}

}  // namespace kiln::cuda::api
