// The attributes are those that `cuobjdump -elf` of the CUDA toolkit shows as EIATTR_*: each has a
// format byte, a kind, and a length or a value of 16 bits.
#include "tests/backends/cuda_code/kernel_resources.h"

#include <elf.h>

#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace kiln::testing {
namespace {

constexpr std::uint8_t kSized = 4;        // the format of attributes with bytes after them
constexpr std::uint8_t kFrameSize = 0x11;  // symbol, bytes
constexpr std::uint8_t kRegisters = 0x2f;  // symbol, count

class Cubin {
 public:
  explicit Cubin(std::string_view bytes) : bytes_(bytes) {
    const auto header = read<Elf64_Ehdr>(0);
    const bool is_elf = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
    if (!is_elf || header.e_ident[EI_CLASS] != ELFCLASS64) throw std::runtime_error("no cubin");
    for (int i = 0; i < header.e_shnum; ++i) {
      const auto number = static_cast<std::size_t>(i);
      sections_.push_back(read<Elf64_Shdr>(header.e_shoff + number * header.e_shentsize));
    }
    names_ = contents(sections_.at(header.e_shstrndx));
  }

  std::map<std::string, KernelResources> resources() const {
    std::map<std::string, KernelResources> result;
    for (const Elf64_Shdr& section : sections_) {
      const std::string name = text_at(names_, section.sh_name);
      if (name == ".nv.info") add_attributes(contents(section), result);
      constexpr std::string_view kShared = ".nv.shared.";
      if (!name.starts_with(kShared)) continue;
      result[name.substr(kShared.size())].shared_bytes = static_cast<std::int64_t>(section.sh_size);
    }
    return result;
  }

 private:
  template <class T>
  T read(std::size_t offset, std::string_view from) const {
    T value;
    if (offset > from.size() || from.size() - offset < sizeof(T)) {
      throw std::runtime_error("a cubin that ends early");
    }
    std::memcpy(&value, from.data() + offset, sizeof(T));
    return value;
  }
  template <class T>
  T read(std::size_t offset) const {
    return read<T>(offset, bytes_);
  }

  std::string_view contents(const Elf64_Shdr& section) const {
    if (section.sh_type == SHT_NOBITS) return {};
    return bytes_.substr(section.sh_offset, section.sh_size);
  }

  static std::string text_at(std::string_view strings, std::size_t offset) {
    return std::string(strings.substr(offset, strings.find('\0', offset) - offset));
  }

  std::string symbol(std::uint32_t number) const {
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_SYMTAB) continue;
      const auto one = read<Elf64_Sym>(number * sizeof(Elf64_Sym), contents(section));
      return text_at(contents(sections_.at(section.sh_link)), one.st_name);
    }
    throw std::runtime_error("a cubin without symbols");
  }

  void add_attributes(std::string_view info, std::map<std::string, KernelResources>& result) const {
    for (std::size_t at = 0; at + 4 <= info.size();) {
      const auto format = read<std::uint8_t>(at, info), kind = read<std::uint8_t>(at + 1, info);
      const auto size = read<std::uint16_t>(at + 2, info);
      const bool has_value = format == kSized && (kind == kFrameSize || kind == kRegisters);
      if (has_value) {
        KernelResources& resources = result[symbol(read<std::uint32_t>(at + 4, info))];
        const auto value = static_cast<int>(read<std::uint32_t>(at + 8, info));
        (kind == kRegisters ? resources.registers : resources.stack_bytes) = value;
      }
      at += 4 + (format == kSized ? size : 0u);
    }
  }

  std::string_view bytes_, names_;
  std::vector<Elf64_Shdr> sections_;
};

}  // namespace

std::map<std::string, KernelResources> read_kernel_resources(const std::string& cubin) {
  return Cubin(cubin).resources();
}

}  // namespace kiln::testing
