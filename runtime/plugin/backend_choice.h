// Selects the wanted backend from the environment and keras.json. backend.cpp opens it.
#pragma once

#include <string>
#include <string_view>

namespace kiln::runtime {

/// The backend if no source names one.
inline constexpr std::string_view kDefaultBackend = "cpu";

/// The settings of each source, in their order; empty if not set. The last two are shared with
/// Python Keras.
struct BackendSources {
  std::string own_environment = {};  // the value of KILN_BACKEND
  std::string own_file = {};         // `kiln.backend` in keras.json
  std::string environment = {};      // the value of KERAS_BACKEND
  std::string file = {};             // `backend` in keras.json
  std::string file_path = {};
};

struct WantedBackend {
  std::string value;   // a name, "auto" or a path
  std::string reason;  // as in BackendChoice
  std::string note = {};  // to be logged once; empty for none
};

/// Selects the backend of the first source that is set, else the default. The name of an engine of
/// Python Keras in a shared source selects the default with a note.
WantedBackend decide_backend(const BackendSources& sources);

/// Resets the choice, so that the next call reads the sources again. For tests.
void forget_backend_choice();

}  // namespace kiln::runtime
