// Both numbers are decimal, with one space between them.
#include "core/ops/shard_payload.h"

#include <charconv>
#include <system_error>

namespace kiln::ir {

std::string encode(const ShardPayload& payload) {
  return std::to_string(payload.part) + " " + std::to_string(payload.count);
}

std::optional<ShardPayload> decode_shard(std::string_view text) {
  ShardPayload payload;
  const char* const end = text.data() + text.size();
  const auto part = std::from_chars(text.data(), end, payload.part);
  if (part.ec != std::errc() || part.ptr == end || *part.ptr != ' ') return std::nullopt;
  const auto count = std::from_chars(part.ptr + 1, end, payload.count);
  if (count.ec != std::errc() || count.ptr != end) return std::nullopt;
  if (payload.part < 0 || payload.part >= payload.count) return std::nullopt;
  return payload;
}

}  // namespace kiln::ir
