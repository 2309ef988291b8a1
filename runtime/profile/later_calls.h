// The calls after the first, whose mean is what a profile shows: the first one also prepares.
#pragma once

#include <kiln/profile.h>

#include <algorithm>

namespace kiln::runtime {

/// Whether the profile has a first call of known time, and others.
inline bool has_later_calls(const Profile& profile) {
  return profile.calls > 1 && profile.first_seconds > 0;
}

/// The seconds of the profile, or of one of its rows or sums, in the later calls; in all calls
/// without later ones.
template <class Timed>
double later_seconds(const Profile& profile, const Timed& one) {
  return has_later_calls(profile) ? std::max(one.seconds - one.first_seconds, 0.0) : one.seconds;
}

}  // namespace kiln::runtime
