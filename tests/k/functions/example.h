// Support for the tests that the build makes of the examples of docstrings: each begins with the
// settings of a new process, and values are compared as they print.
#pragma once

#include "tests/support/catch.h"
#include "tests/support/scratch.h"

#include <kiln/distributed.h>
#include <kiln/train.h>

#include <optional>
#include <sstream>
#include <string>

namespace kiln::testing {

/// Restores the built-in settings before and after a test, which runs in a folder of its own. The
/// backend is that of the process.
class DefaultSettings {
 public:
  DefaultSettings() : backend_(backend()), folder_(std::filesystem::current_path()) {
    restore();
    std::filesystem::current_path(scratch_.folder());
  }
  ~DefaultSettings() {
    restore();
    set_backend(backend_);
    std::filesystem::current_path(folder_);
  }
  DefaultSettings(const DefaultSettings&) = delete;
  DefaultSettings& operator=(const DefaultSettings&) = delete;

 private:
  static void restore() {
    clear_session();
    set_epsilon(1e-7);
    set_floatx("float32");
    set_image_data_format("channels_last");
    set_random_seed(1);
  }

  std::string backend_;
  std::filesystem::path folder_;
  testing::Scratch scratch_;
};

template <class Value>
void show(std::ostream& out, const Value& value) {
  out << value;
}
template <class Value>
void show(std::ostream& out, const std::optional<Value>& value) {
  value ? out << *value : out << "None";
}
template <class Value>
void show(std::ostream& out, const std::vector<Value>& values) {
  const char* before = "{";
  for (const Value& value : values) {
    out << before;
    show(out, value);
    before = ", ";
  }
  out << (values.empty() ? "{}" : "}");
}

template <class Value>
void show(std::ostream& out, const Results<Value>& values) {
  show(out, static_cast<const std::vector<Value>&>(values));
}

/// The value as it prints, on one line.
template <class Value>
std::string shown(const Value& value) {
  std::ostringstream out;
  out << std::boolalpha;
  show(out, value);
  std::string text;
  for (const char c : out.str()) {
    const bool blank = c == ' ' || c == '\n';
    if (!blank) text += c;
    else if (!text.empty() && text.back() != ' ') text += ' ';
  }
  return text;
}

}  // namespace kiln::testing
