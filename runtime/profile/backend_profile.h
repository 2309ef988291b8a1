// The profile that a backend reports for an executable (backends/abi/kiln_backend_profile.h).
#pragma once

#include "runtime/plugin/backend_instance.h"

#include <kiln/profile.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::runtime {

/// A row in the order of the program, with its depth in loops and branches. Seconds include those
/// of the deeper rows behind it.
struct BackendStep : ProfileRow {
  std::int64_t depth = 0;
};
struct BackendBinding {
  std::int64_t number = 0;
  double seconds = 0;
  std::string sizes;  // "32,784;32"
};

/// Sums over all calls that were measured since the executable was compiled.
struct BackendProfile {
  std::int64_t calls = 0;
  double seconds = 0, first_seconds = 0, shortest = 0;
  std::vector<BackendStep> steps;
  std::vector<ProfileTensor> tensors;
  std::vector<BackendBinding> bindings;
  std::vector<std::string> notes;
};

/// A request that goes with that for the profile.
enum class Measuring : std::uint8_t { Continue, Begin, End };

/// Asks for the profile, and that measuring begins before it or ends after it. Empty if the backend
/// gives none. BackendError for a malformed one.
std::optional<BackendProfile> query_profile(const Executable& executable, Measuring measuring);

/// Parses the text. BackendError naming the backend, the line and the reason.
BackendProfile parse_profile(std::string_view text, const std::string& backend);

/// Subtracts what had been measured before.
void subtract(BackendProfile& profile, const BackendProfile& before);

}  // namespace kiln::runtime
