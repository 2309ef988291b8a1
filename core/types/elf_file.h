// Reads ELF files, such as shared libraries before they are loaded. No offset or count in a file is
// trusted: each is checked by the read that uses it.
#pragma once

#include <elf.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kiln {

class ElfFile {
 public:
  /// Opens the file, without waiting for the writer of a pipe.
  explicit ElfFile(const std::string& path);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  /// errno of opening it; 0 if it is open.
  int error() const { return error_; }
  bool is_regular() const { return S_ISREG(status_.st_mode); }
  std::uint64_t size() const { return static_cast<std::uint64_t>(status_.st_size); }
  /// Whether it begins with the magic bytes of ELF.
  bool has_magic() const;
  /// None if the file is shorter. In a 32-bit file, the fields up to e_version have these offsets.
  std::optional<Elf64_Ehdr> header() const;
  /// The program headers; fewer than header.e_phnum if they are not all in the file.
  std::vector<Elf64_Phdr> segments(const Elf64_Ehdr& header) const;
  /// The libraries that the dynamic section names as needed.
  std::vector<std::string> needed_libraries(const std::vector<Elf64_Phdr>& segments) const;

 private:
  /// Reads up to `count` bytes; returns fewer at the end of the file and after an error.
  std::size_t read_bytes(void* to, std::size_t count, std::uint64_t offset) const;
  template <class T>
  std::optional<T> read(std::uint64_t offset) const {
    T value;
    if (read_bytes(&value, sizeof(T), offset) != sizeof(T)) return std::nullopt;
    return value;
  }

  int descriptor_;
  int error_ = 0;
  struct stat status_{};
};

/// The header of the running program; none where /proc is not mounted.
std::optional<Elf64_Ehdr> elf_header_of_process();

}  // namespace kiln
