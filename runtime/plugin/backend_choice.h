// Which backend is wanted, decided from what the environment and keras.json say. Opening it is
// the business of backend.cpp.
#pragma once

#include <string>
#include <string_view>

namespace kiln::runtime {

/// Used when nothing else was asked for.
inline constexpr std::string_view kDefaultBackend = "cpu";

/// What was found; empty means not set.
struct BackendSources {
  std::string environment;  // the value of KERAS_BACKEND
  std::string file;         // `backend` in keras.json
  std::string file_path;
};

struct WantedBackend {
  std::string value;    // a name, "auto" or a path
  std::string reason;   // why, as BackendChoice gives it
  std::string warning;  // to be said once; empty when there is nothing to say
};

/// Environment before file before default. A name of one of Python Keras' own engines, whose
/// variable and file this is too, gives the default and a warning.
WantedBackend decide_backend(const BackendSources& sources);

/// Forgets the choice, so that the next question reads the sources again. For tests.
void forget_backend_choice();

}  // namespace kiln::runtime
