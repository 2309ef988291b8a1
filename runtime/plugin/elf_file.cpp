// Checks the ELF header, the program headers and the needed libraries.
#include "runtime/plugin/elf_file.h"

#include "backends/abi/kiln_backend_structs.h"
#include "core/types/elf_file.h"
#include "core/types/text.h"

#include <cstring>

namespace kiln::runtime {
namespace {

bool is_for_this_machine(const Elf64_Ehdr& header) {
  const std::optional<Elf64_Ehdr> own = elf_header_of_process();
  return header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
         (!own || header.e_machine == own->e_machine);
}

/// Checks that segments lie inside the file: access to a mapped page beyond its end is a SIGBUS.
std::string size_rejection(const ElfFile& file, const Elf64_Ehdr& header,
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
  const ElfFile file(path);
  if (file.error() != 0) return text("cannot be read: ", std::strerror(file.error()));
  if (!file.has_magic()) return "is not an ELF file";
  const auto header = file.header();
  if (!header) return "is cut off within its ELF header";
  if (!is_for_this_machine(*header)) return "is an ELF file for another kind of machine";
  if (header->e_type != ET_DYN) return "is an ELF file but not a shared library";
  const std::vector<Elf64_Phdr> segments = file.segments(*header);
  const std::string rejection = size_rejection(file, *header, segments);
  return !rejection.empty() ? rejection : sanitizer_rejection(file.needed_libraries(segments));
}

}  // namespace kiln::runtime
