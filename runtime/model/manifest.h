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

/// Returns the JSON of a manifest, of version kModelVersion. ValueError for a text that is not
/// UTF-8.
std::string manifest_text(const Manifest& manifest);
/// Parses a manifest. IoError "<subject> ..." for malformed JSON, for another version, and unless
/// it has all fields with their types. `subject`: "m.kiln: manifest.json".
Manifest read_manifest(std::string_view json, const std::string& subject);

}  // namespace kiln::runtime
