// Sets a private KERAS_HOME for one test; restores the environment at its end, and forgets the
// process's configuration at both ends.
#pragma once

#include "core/k/base/context_impl.h"
#include "tests/support/environment.h"
#include "tests/support/error_text.h"
#include "tests/support/scratch.h"

#include <filesystem>
#include <string>

namespace kiln::testing {

class KerasHome {
 public:
  KerasHome() {
    keras_home_.set(folder());
    forget_configuration();
  }
  explicit KerasHome(const std::string& contents) : KerasHome() { write(contents); }
  ~KerasHome() { forget_configuration(); }

  const std::string& folder() const { return scratch_.folder(); }
  std::string path() const { return scratch_.path("keras.json"); }
  void write(const std::string& contents) const {
    std::filesystem::remove(path());
    scratch_.write("keras.json", contents);
  }
  /// The path in a message replaced by PATH.
  std::string without_path(const std::string& message) const {
    return testing::without_path(message, path());
  }

 private:
  Scratch scratch_;
  EnvironmentVariable keras_home_{"KERAS_HOME"}, home_{"HOME"};
};

}  // namespace kiln::testing
