// The section `kiln` of keras.json: the backend, and options of backends.
#pragma once

#include "runtime/config/setting.h"
#include "runtime/files/json.h"

#include <string>

namespace kiln::runtime {

/// Read `kiln.backend` and `kiln.backends` of the document: options that are strings unchanged,
/// booleans as true and false, numbers in decimal. Values of other types and unknown keys of `kiln`
/// are rejected. `path`: of the file, for reasons. REQUIRES: the document is an object.
Setting<std::string> read_kiln_backend(const std::string& path, const JsonValue& document);
Setting<BackendSettings> read_backend_settings(const std::string& path, const JsonValue& document);

}  // namespace kiln::runtime
