// Tells the binary form by its magic bytes.
#include "runtime/replay/module_file.h"

#include "core/module/format.h"
#include "core/module/parse.h"
#include "core/module/read.h"
#include "core/types/text.h"
#include "runtime/files/file_io.h"
#include "runtime/weights/file_format.h"

#include <kiln/error.h>

#include <array>
#include <cstring>

namespace kiln::runtime {
namespace {

bool is_binary(const InputFile& file) {
  std::array<std::byte, sizeof(module::kMagic)> head;
  if (file.size() < head.size()) return false;
  file.read(0, head);
  return std::memcmp(head.data(), module::kMagic, head.size()) == 0;
}

std::string contents_of(const InputFile& file, std::uint64_t max_bytes) {
  if (file.size() > max_bytes) {
    file.reject(text("has ", file.size(), " bytes; at most ", max_bytes, " are read"));
  }
  std::string contents(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(contents)));
  return contents;
}

/// Rejects a file that begins like one of another format.
void reject_other_formats(const InputFile& file) {
  const std::string_view format = known_format(first_bytes(file));
  if (!format.empty() && format != kText) file.reject(text("is ", format, ", not a module"));
}

}  // namespace

module::Module read_module_file(const std::string& path) {
  const InputFile file(path);
  if (file.size() == 0) file.reject("is empty");
  if (!is_binary(file)) {
    reject_other_formats(file);
    return module::parse_module(contents_of(file, module::kMaxTextBytes), path);
  }
  const std::string contents = contents_of(file, module::kMaxModuleBytes);
  try {
    return module::read_module(std::as_bytes(std::span(contents)));
  } catch (const IoError& error) {
    file.reject(text("cannot be read: ", error.message()));
  }
}

}  // namespace kiln::runtime
