// Texts that ranks send to rank 0 beside the transfers.
#pragma once

#include "backends/mpi/mpi_group.h"

#include <cstring>
#include <deque>

namespace kiln::mpi {

/// Bounded, so that MPI takes a whole notice at once and the sender needs no answer.
struct Notice {
  std::uint32_t rank, size;
  char text[1016];
};

template <class Handle>
class Notices {
 public:
  explicit Notices(Engine<Handle>& engine) : engine_(engine) {}

  /// Starts to send the text, cut to what a notice holds; an empty one is not sent. Throws
  /// sdk::Failure: RESOURCE_EXHAUSTED while MPI has not sent kMaxUnsent notices.
  void send(const MpiGroup<Handle>& world, std::string_view text);
  /// On rank 0: passes all that have arrived to `on_text`, which may be null. Does not wait.
  void receive(const MpiGroup<Handle>& world, OnText on_text, void* context);
  /// Completes all notices; called by all ranks. Drops those that arrive now.
  void finish(MpiGroup<Handle>& world);

 private:
  static constexpr std::size_t kMaxUnsent = 64;
  static constexpr int kTag = 0;
  struct Sending {
    Handle request;
    Notice notice;
  };
  void drop_sent();

  Engine<Handle>& engine_;
  std::deque<Sending> sending_;  // whose elements keep their addresses
  std::uint32_t sent_ = 0, received_ = 0;
};

template <class Handle>
void Notices<Handle>::drop_sent() {
  while (!sending_.empty()) {
    int done = 0;
    engine_.call(&Functions<Handle>::test, "MPI_Test", &sending_.front().request, &done,
                 engine_.status_ignore());
    if (done == 0) return;
    sending_.pop_front();
  }
}

template <class Handle>
void Notices<Handle>::send(const MpiGroup<Handle>& world, std::string_view text) {
  drop_sent();
  if (text.empty()) return;
  if (sending_.size() == kMaxUnsent) {
    throw sdk::Failure(KILN_CODE_RESOURCE_EXHAUSTED,
                       std::to_string(kMaxUnsent) + " notices have not been sent yet");
  }
  Notice notice{};
  notice.rank = world.rank;
  std::size_t size = std::min(text.size(), sizeof(notice.text));
  const auto continues = [&](std::size_t i) { return (text[i] & '\xc0') == '\x80'; };
  while (size < text.size() && size > 0 && continues(size)) --size;  // keeps whole UTF-8 sequences
  notice.size = static_cast<std::uint32_t>(size);
  std::memcpy(notice.text, text.data(), size);
  Sending& sending = sending_.emplace_back(Sending{Handle{}, notice});
  try {
    engine_.call(&Functions<Handle>::send, "MPI_Isend", &sending.notice,
                 static_cast<int>(sizeof(Notice)), engine_.handles.byte, 0, kTag, world.comm(),
                 &sending.request);
  } catch (const sdk::Failure&) {
    sending_.pop_back();  // it has no request to test
    throw;
  }
  ++sent_;
}

template <class Handle>
void Notices<Handle>::receive(const MpiGroup<Handle>& world, OnText on_text, void* context) {
  for (;;) {
    int has_arrived = 0;
    engine_.call(&Functions<Handle>::probe, "MPI_Iprobe", engine_.numbers.any_source, kTag,
                 world.comm(), &has_arrived, engine_.status_ignore());
    if (has_arrived == 0) return;
    Notice notice{};
    engine_.call(&Functions<Handle>::receive, "MPI_Recv", &notice, static_cast<int>(sizeof(Notice)),
                 engine_.handles.byte, engine_.numbers.any_source, kTag, world.comm(),
                 engine_.status_ignore());
    ++received_;
    const std::uint64_t size = std::min<std::uint64_t>(notice.size, sizeof(notice.text));
    if (on_text != nullptr) on_text(context, notice.rank, {notice.text, size});
  }
}

/// MPI requires that each message that was sent is received before it is finalised.
template <class Handle>
void Notices<Handle>::finish(MpiGroup<Handle>& world) {
  std::uint64_t all = 0;
  for (const std::uint32_t sent : world.gather(sent_)) all += sent;
  while (world.rank == 0 && received_ < all) receive(world, nullptr, nullptr);
  for (drop_sent(); !sending_.empty(); drop_sent()) std::this_thread::yield();
}

}  // namespace kiln::mpi
