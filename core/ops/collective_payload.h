// The payload of the host calls "collective_start" and "collective_wait", by which a backend knows
// a collective: its number in the program and its attributes, as decimal numbers separated by
// spaces. kiln_backend.h documents it.
#pragma once

#include "core/ir/attrs.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kiln::ir {

struct CollectivePayload {
  std::int64_t number = 0;  // of the program's collectives, from 0 in the order in which they run
  CollectiveAttrs attrs;
  bool operator==(const CollectivePayload&) const = default;
};

/// "0 0 0 0 0 0 4": number, kind, reduction, axis, root, group, ranks.
std::string encode(const CollectivePayload& payload);
/// Empty for another text.
std::optional<CollectivePayload> decode_collective(std::string_view text);

}  // namespace kiln::ir
