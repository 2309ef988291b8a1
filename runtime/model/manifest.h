// manifest.json of a .kiln file: its version, and the names that the module lacks.
#pragma once

#include "runtime/model/model_graph.h"

#include <map>
#include <string>
#include <string_view>

namespace kiln::runtime {

inline constexpr std::int64_t kModelVersion = 1;

struct Manifest {
  ModelNames names;
  std::map<std::string, std::string> metadata;
};

/// Throws ValueError for a text that is not UTF-8.
std::string manifest_text(const Manifest& manifest);
/// Reads one. Throws IoError "<what> ..." for malformed JSON, for another version, and unless it
/// has all fields with their types.
Manifest read_manifest(std::string_view text, const std::string& what);

}  // namespace kiln::runtime
