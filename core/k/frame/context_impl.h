// The private side of the context: what other parts of Kiln read and reset.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace kiln {

/// Values that a configuration file gives; those it lacks stay as built in.
struct ConfiguredDefaults {
  std::optional<std::string> floatx, image_data_format;
  std::optional<double> epsilon;
};
/// Called before the first read of a configured value; if it throws, that read throws and the next
/// one calls it again. Defined by the runtime, which may read files: core only declares it.
ConfiguredDefaults configured_defaults();

/// 0 or 1 after set_learning_phase, until the session is cleared.
std::optional<int> fixed_learning_phase();
/// clear_session's part: uids and the learning phase.
void reset_session_state();

/// epsilon, floatx and the data format are as if never read nor set.
void forget_configuration();

/// Draws a seed from the process-wide generator.
std::uint64_t next_seed();
/// The number of this call among those of functions that draw.
std::uint64_t next_call_counter();

/// `name` with the scopes of this thread before it; empty stays empty.
std::string scoped_name(const std::string& name);

}  // namespace kiln
