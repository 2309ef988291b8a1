// Runs transfers of every kind and several sizes at once, and checks each byte.
#pragma once

#include "tests/distributed/fake/fake_rank.h"

namespace kiln::fake {

/// In one rank: opens, exchanges, closes. Returns the first fault, else "".
std::string check_kinds(const Ranks& ranks, std::uint32_t rank);

}  // namespace kiln::fake
