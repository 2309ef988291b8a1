// Random states, for other parts of Kiln.
#pragma once

#include <cstdint>
#include <optional>

namespace kiln {

class RandomState;
struct RandomPosition;

/// Returns the state of this thread's innermost RandomScope, if there is one.
std::optional<RandomState> scoped_random_state();

/// Sets the process's state unless the user has, by set_random_seed or set_position. Thread-safe.
void set_default_position(const RandomPosition& position);

/// Takes the number of a call that draws. null: the process's, 0 for the first call after
/// set_random_seed. Thread-safe.
std::uint64_t next_call_counter(const RandomState* state = nullptr);
/// Returns the number that the next call would take. null: the process's. Thread-safe.
std::uint64_t peek_call_counter(const RandomState* state = nullptr);

}  // namespace kiln
