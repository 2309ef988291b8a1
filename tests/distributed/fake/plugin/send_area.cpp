// Reserves memory behind the newest chunk, after freeing the oldest ones.
#include "tests/distributed/fake/plugin/send_area.h"
#include "tests/distributed/fake/plugin/failure.h"

#include <string>

namespace kiln::fake {

std::uint64_t SendArea::reserve(std::uint64_t bytes, std::uint32_t group, std::uint64_t index) {
  const auto is_free = [&](const Chunk& chunk) {
    return oldest_of(world_.groups[chunk.group]) > chunk.index;
  };
  while (!chunks_.empty() && is_free(chunks_.front())) chunks_.pop_front();
  const std::uint64_t capacity = world_.settings.send_bytes;
  const std::uint64_t head = chunks_.empty() ? 0 : chunks_.front().begin;
  const std::uint64_t tail = chunks_.empty() ? 0 : chunks_.back().end;
  // Chunks never fill the ring: head == tail means that there are none.
  const std::uint64_t before_head = head == 0 ? 0 : head - 1;
  std::uint64_t begin = tail, limit = tail < head ? before_head : capacity;
  if (tail >= head && capacity - tail < bytes) begin = 0, limit = before_head;
  if (limit - begin < bytes) {
    throw Failure(KILN_CODE_RESOURCE_EXHAUSTED,
                  "start: " + std::to_string(bytes) + " bytes to send do not fit, with the " +
                      std::to_string(chunks_.size()) + " transfers in progress, into the " +
                      std::to_string(capacity) + " of Settings::send_bytes");
  }
  if (bytes > 0) chunks_.push_back({begin, begin + bytes, group, index});
  return begin;
}

}  // namespace kiln::fake
