// Reads headers, program headers and the dynamic section by pread.
#include "core/types/elf_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace kiln {
namespace {

constexpr std::size_t kMaxHeaders = 4096;  // far above the output of linkers
constexpr std::size_t kMaxNameBytes = 256;

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

}  // namespace

ElfFile::ElfFile(const std::string& path)
    : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (descriptor_ < 0 || ::fstat(descriptor_, &status_) != 0) error_ = errno;
}

ElfFile::~ElfFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::size_t ElfFile::read_bytes(void* to, std::size_t count, std::uint64_t offset) const {
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

bool ElfFile::has_magic() const {
  const auto magic = read<std::uint32_t>(0);
  return magic && std::memcmp(&*magic, ELFMAG, SELFMAG) == 0;
}

std::optional<Elf64_Ehdr> ElfFile::header() const { return read<Elf64_Ehdr>(0); }

std::vector<Elf64_Phdr> ElfFile::segments(const Elf64_Ehdr& header) const {
  std::vector<Elf64_Phdr> segments;
  if (header.e_phnum > kMaxHeaders) return segments;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = read<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) break;
    segments.push_back(*segment);
  }
  return segments;
}

std::vector<std::string> ElfFile::needed_libraries(const std::vector<Elf64_Phdr>& segments) const {
  std::vector<std::uint64_t> names;
  std::optional<std::uint64_t> strings;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    for (std::size_t i = 0; i < kMaxHeaders; ++i) {
      const auto entry = read<Elf64_Dyn>(segment.p_offset + i * sizeof(Elf64_Dyn));
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_NEEDED) names.push_back(entry->d_un.d_val);
      if (entry->d_tag == DT_STRTAB) strings = file_offset(segments, entry->d_un.d_ptr);
    }
  }
  std::vector<std::string> libraries;
  if (!strings) return libraries;
  for (const std::uint64_t at : names) {
    char name[kMaxNameBytes] = "";
    read_bytes(name, sizeof(name) - 1, *strings + at);
    libraries.emplace_back(name);
  }
  return libraries;
}

std::optional<Elf64_Ehdr> elf_header_of_process() {
  const ElfFile program("/proc/self/exe");
  return program.error() == 0 ? program.header() : std::nullopt;
}

}  // namespace kiln
