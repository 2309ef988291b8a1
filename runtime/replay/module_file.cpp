// Tells the binary form by its magic bytes.
#include "runtime/replay/module_file.h"

#include "core/module/format.h"
#include "core/module/parse.h"
#include "core/module/read.h"
#include "core/types/text.h"
#include "runtime/files/file_io.h"

#include <kiln/error.h>

#include <cstring>

namespace kiln::runtime {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;

}  // namespace

module::Module read_module_file(const std::string& path) {
  const InputFile file(path);
  if (file.size() > kMaxBytes) {
    file.reject(text("has ", file.size(), " bytes; at most ", kMaxBytes, " are read"));
  }
  std::string contents(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(contents)));
  const bool is_binary = contents.size() >= sizeof(module::kMagic) &&
                         std::memcmp(contents.data(), module::kMagic, sizeof(module::kMagic)) == 0;
  if (!is_binary) return module::parse_module(contents, path);
  try {
    return module::read_module(std::as_bytes(std::span(contents)));
  } catch (const IoError& error) {
    file.reject(text("cannot be read: ", error.message()));
  }
}

}  // namespace kiln::runtime
