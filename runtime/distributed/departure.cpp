// Each group has one transfer in progress; the wait ends with the first of them.
#include "runtime/distributed/departure.h"

#include "runtime/distributed/operation.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace kiln::runtime::distributed {

Departure::Departure(Channel& channel, std::uint64_t call, const std::string& reason)
    : channel_(channel),
      protocol_({.kind = HeadKind::Leave, .call = call, .function = hash_of("leave")}),
      reason_(padded_text(reason)) {}

void Departure::start() {
  if (protocol_.next() == Action::ExchangeHeads) {
    channel_.start_all_gather(std::as_bytes(std::span(&protocol_.head(), 1)));
  } else if (protocol_.next() == Action::ExchangeTexts) {
    channel_.start_all_gather(std::as_bytes(std::span(reason_)));
  }
}

bool Departure::poll() {
  const auto received = channel_.take_all_gather();
  if (!received) return false;
  if (protocol_.next() == Action::ExchangeHeads) {
    std::vector<Head> heads(channel_.place().size);
    std::memcpy(heads.data(), received->data(), received->size());
    protocol_.on_heads(heads);
  } else {
    protocol_.on_texts();
  }
  start();
  return true;
}

void leave_groups(Channel& world, std::span<Departure> groups) {
  for (Departure& group : groups) group.start();
  const auto poll_all = [&] {
    bool has_ended = false;  // an exchange
    for (Departure& group : groups) has_ended = group.poll() || has_ended;
    return has_ended;
  };
  while (!std::ranges::all_of(groups, &Departure::is_over)) world.wait_until(poll_all, 0);
}

}  // namespace kiln::runtime::distributed
