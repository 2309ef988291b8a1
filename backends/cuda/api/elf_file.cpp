// Compares the file's ELF header with the one of the running program.
#include "backends/cuda/api/elf_file.h"

#include "core/types/elf_file.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace kiln::cuda::api {
namespace {

/// The minimum file size for its PT_LOAD segments, saturated; 0 if its headers cannot be read.
std::uint64_t needed_bytes(const ElfFile& file, const Elf64_Ehdr& header) {
  const std::vector<Elf64_Phdr> segments = file.segments(header);
  if (segments.size() != header.e_phnum) return 0;
  std::uint64_t end = 0;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD) continue;
    std::uint64_t segment_end = 0;
    if (__builtin_add_overflow(segment.p_offset, segment.p_filesz, &segment_end)) return UINT64_MAX;
    end = std::max(end, segment_end);
  }
  return end;
}

std::string bits_of(const Elf64_Ehdr& header) {
  return header.e_ident[EI_CLASS] == ELFCLASS64 ? "64" : "32";
}

}  // namespace

std::string reason_not_loadable(const std::string& path) {
  const ElfFile file(path);
  if (file.error() == ENOENT) {
    struct stat link;
    return ::lstat(path.c_str(), &link) == 0 ? "a symbolic link to no file" : kNoSuchFile;
  }
  if (file.error() != 0) return "cannot be read: " + std::generic_category().message(file.error());
  if (!file.is_regular()) return "not a regular file";
  const std::optional<Elf64_Ehdr> header = file.header();
  if (!header || !file.has_magic()) return "not an ELF file";
  const std::optional<Elf64_Ehdr> own = elf_header_of_process();
  if (!own) return "";
  if (header->e_ident[EI_CLASS] != own->e_ident[EI_CLASS]) {
    return "a " + bits_of(*header) + "-bit library, but this process is " + bits_of(*own) + "-bit";
  }
  if (header->e_machine != own->e_machine || header->e_ident[EI_DATA] != own->e_ident[EI_DATA]) {
    return "a library of another architecture (ELF machine " + std::to_string(header->e_machine) +
           ", but this process is " + std::to_string(own->e_machine) + ")";
  }
  // The loader maps files without reading them: a truncated one would raise SIGBUS later.
  const std::uint64_t needed = needed_bytes(file, *header);
  if (needed == 0) return "cut off: its program headers are missing";
  if (file.size() < needed) {
    return "cut off: it has " + std::to_string(file.size()) + " bytes and needs " +
           std::to_string(needed);
  }
  return "";
}

}  // namespace kiln::cuda::api
