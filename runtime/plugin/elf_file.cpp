// Reads the ELF header, the program headers and, from the dynamic section, the needed libraries.
// Each offset comes from the file and is checked by the read that uses it.
#include "runtime/plugin/elf_file.h"

#include "backends/abi/kiln_backend_structs.h"
#include "core/types/text.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace kiln::runtime {
namespace {

constexpr std::size_t kMaxHeaders = 4096;  // far above the output of linkers
constexpr std::size_t kMaxNameBytes = 256;

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
#error "the machine number of this processor is missing"
#endif

class File {
 public:
  explicit File(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat info{};
    if (is_open() && ::fstat(descriptor_, &info) == 0) {
      size_ = static_cast<std::uint64_t>(info.st_size);
    }
  }
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool is_open() const { return descriptor_ >= 0; }
  std::uint64_t size() const { return size_; }

  template <class T>
  std::optional<T> read(std::uint64_t offset) const {
    T value;
    if (read_bytes(&value, sizeof(T), offset) != sizeof(T)) return std::nullopt;
    return value;
  }

  std::string read_name(std::uint64_t offset) const {
    char name[kMaxNameBytes] = "";
    read_bytes(name, sizeof(name) - 1, offset);
    return name;
  }

 private:
  /// Reads up to `count` bytes; returns fewer at the end of the file and after an error.
  std::size_t read_bytes(void* to, std::size_t count, std::uint64_t offset) const {
    std::size_t done = 0;
    while (done < count) {
      const ssize_t got = ::pread(descriptor_, static_cast<char*>(to) + done, count - done,
                                  static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  int descriptor_;
  std::uint64_t size_ = 0;
};

std::vector<Elf64_Phdr> segments_of(const File& file, const Elf64_Ehdr& header) {
  std::vector<Elf64_Phdr> segments;
  if (header.e_phnum > kMaxHeaders) return segments;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = file.read<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) break;
    segments.push_back(*segment);
  }
  return segments;
}

/// Converts an address of the loaded image to an offset in the file.
std::optional<std::uint64_t> file_offset(const std::vector<Elf64_Phdr>& segments,
                                         std::uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    if (address - segment.p_vaddr < segment.p_filesz) {
      return address - segment.p_vaddr + segment.p_offset;
    }
  }
  return std::nullopt;
}

/// Checks that segments lie inside the file: access to a mapped page beyond its end is a SIGBUS.
std::string size_rejection(const File& file, const Elf64_Ehdr& header,
                           const std::vector<Elf64_Phdr>& segments) {
  if (header.e_phnum == 0 || segments.size() != header.e_phnum) {
    return "is cut off or damaged within its program headers";
  }
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC) continue;
    const bool is_inside =
        segment.p_filesz <= file.size() && segment.p_offset <= file.size() - segment.p_filesz;
    if (is_inside) continue;
    return text("is cut off: it has ", file.size(), " bytes and needs ", segment.p_filesz,
                " from byte ", segment.p_offset, " on");
  }
  return {};
}

std::vector<std::string> needed_libraries(const File& file,
                                          const std::vector<Elf64_Phdr>& segments) {
  std::vector<std::uint64_t> names;
  std::optional<std::uint64_t> strings;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    for (std::size_t i = 0; i < kMaxHeaders; ++i) {
      const auto entry = file.read<Elf64_Dyn>(segment.p_offset + i * sizeof(Elf64_Dyn));
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_NEEDED) names.push_back(entry->d_un.d_val);
      if (entry->d_tag == DT_STRTAB) strings = file_offset(segments, entry->d_un.d_ptr);
    }
  }
  std::vector<std::string> libraries;
  for (const std::uint64_t name : names) {
    if (strings) libraries.push_back(file.read_name(*strings + name));
  }
  return libraries;
}

std::string sanitizer_rejection(const std::vector<std::string>& libraries) {
  constexpr std::uint32_t kOwn = abi::this_sanitizer();
  for (const std::string& library : libraries) {
    if (library.starts_with("libasan.so") && kOwn != KILN_SANITIZER_ADDRESS) {
      return text("is built with the address sanitizer and Kiln is not");
    }
    if (library.starts_with("libtsan.so") && kOwn != KILN_SANITIZER_THREAD) {
      return text("is built with the thread sanitizer and Kiln is not");
    }
  }
  return {};
}

}  // namespace

std::string elf_rejection(const std::string& path) {
  const File file(path);
  if (!file.is_open()) return text("cannot be read: ", std::strerror(errno));
  const auto magic = file.read<std::uint32_t>(0);
  if (!magic || std::memcmp(&*magic, ELFMAG, SELFMAG) != 0) return "is not an ELF file";
  const auto header = file.read<Elf64_Ehdr>(0);
  if (!header) return "is cut off within its ELF header";
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
      header->e_machine != kMachine) {
    return "is an ELF file for another kind of machine";
  }
  if (header->e_type != ET_DYN) return "is an ELF file but not a shared library";
  const std::vector<Elf64_Phdr> segments = segments_of(file, *header);
  const std::string rejection = size_rejection(file, *header, segments);
  return !rejection.empty() ? rejection : sanitizer_rejection(needed_libraries(file, segments));
}

}  // namespace kiln::runtime
