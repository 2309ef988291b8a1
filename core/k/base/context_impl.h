// Settings and state of the process, for other parts of Kiln.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

namespace kiln {

/// A default of keras.json; empty if the file does not set it.
template <class T>
struct ConfiguredDefault {
  std::optional<T> value = {};
  std::exception_ptr error = {};  // why the file's value cannot be used; null: it can
};
/// The defaults that keras.json sets; the others are built in.
struct ConfiguredDefaults {
  ConfiguredDefault<std::string> floatx, image_data_format;
  ConfiguredDefault<double> epsilon;
};
/// Reads keras.json. Called by the first read of a setting that was not set; if the file's value of
/// that setting cannot be used, the read throws, and the next one calls it again. Defined by the
/// runtime, since core reads no files.
ConfiguredDefaults configured_defaults();

/// The phase that set_learning_phase fixed (0 or 1), until clear_session.
std::optional<int> fixed_learning_phase();
/// Resets uid counters and the learning phase, for clear_session.
void reset_session_state();

/// Unsets epsilon, floatx and the data format, so that the next read reads keras.json.
void forget_configuration();

/// Draws a seed from the state of this thread's RandomScope, else from the process's. Thread-safe.
std::uint64_t next_seed();

/// `name` prefixed by the name scopes of this thread; an empty name stays empty.
std::string scoped_name(const std::string& name);

}  // namespace kiln
