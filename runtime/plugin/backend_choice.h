// Selects the wanted backend from the environment and keras.json. backend.cpp opens it.
#pragma once

#include <string>
#include <string_view>

namespace kiln::runtime {

/// The backend if no source names one.
inline constexpr std::string_view kDefaultBackend = "cpu";

/// The settings of each source; empty if not set.
struct BackendSources {
  std::string environment;  // the value of KERAS_BACKEND
  std::string file;         // `backend` in keras.json
  std::string file_path;
};

struct WantedBackend {
  std::string value;    // a name, "auto" or a path
  std::string reason;   // as in BackendChoice
  std::string warning;  // to be logged once; empty for none
};

/// Selects the backend: environment before file before default. The name of an engine of Python
/// Keras, which reads the same variable and file, selects the default with a warning.
WantedBackend decide_backend(const BackendSources& sources);

/// Resets the choice, so that the next call reads the sources again. For tests.
void forget_backend_choice();

}  // namespace kiln::runtime
