// The payload of the host call "shard" (runtime/host/shard_functions.h): the part of the rows that
// it returns, and the number of parts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kiln::ir {

struct ShardPayload {
  std::int64_t part = 0;  // from 0
  std::int64_t count = 1;  // of the parts of a rank
  bool operator==(const ShardPayload&) const = default;
};

/// "0 2": the first of two parts.
std::string encode(const ShardPayload& payload);
/// Empty for another text, and unless 0 <= part < count.
std::optional<ShardPayload> decode_shard(std::string_view text);

}  // namespace kiln::ir
