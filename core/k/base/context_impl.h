// Settings and state of the process, for other parts of Kiln.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace kiln {

/// The defaults that keras.json sets; the others are built in.
struct ConfiguredDefaults {
  std::optional<std::string> floatx, image_data_format;
  std::optional<double> epsilon;
};
/// Reads keras.json. Called by the first read of a setting that was not set; if it throws, that
/// read throws, and the next one calls it again. Defined by the runtime, since core reads no files.
ConfiguredDefaults configured_defaults();

/// The phase that set_learning_phase fixed (0 or 1), until clear_session.
std::optional<int> fixed_learning_phase();
/// Resets uid counters and the learning phase, for clear_session.
void reset_session_state();

/// Unsets epsilon, floatx and the data format, so that the next read reads keras.json.
void forget_configuration();

/// Draws a seed from the generator that set_random_seed seeds. Thread-safe.
std::uint64_t next_seed();
/// The call counter of random draws: 0 for the first call after set_random_seed. Thread-safe.
std::uint64_t next_call_counter();

/// `name` prefixed by the name scopes of this thread; an empty name stays empty.
std::string scoped_name(const std::string& name);

}  // namespace kiln
