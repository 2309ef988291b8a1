// The section `kiln` of keras.json: options of backends.
#pragma once

#include "runtime/files/json.h"

#include <map>
#include <string>

namespace kiln::runtime {

/// Reads `kiln.backends` of the document, by backend and option: strings unchanged, booleans as
/// true and false, numbers in decimal. `path`: of the file, for errors. ConfigError for values of
/// other types and for unknown keys of `kiln`. REQUIRES: the document is an object.
std::map<std::string, std::map<std::string, std::string>> read_backend_options(
    const std::string& path, const JsonValue& document);

}  // namespace kiln::runtime
