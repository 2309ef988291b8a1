// Events around the transfers of a call, which tell the time that a rank waits for others from that
// of its own work.
#pragma once

#include "backends/cuda/device/stream.h"
#include "core/ir/node.h"

#include <deque>

namespace kiln::cuda {

/// The transfers of one call on its stream. One thread. REQUIRES of all functions: a ScopedContext
/// of the thread. All but the destructor throw sdk::Failure.
class OpenTransfers {
 public:
  struct Transfer {
    const ir::Node* node = nullptr;  // of its collective
    api::EventHandle begin = nullptr, end = nullptr;  // null: not queued
  };

  /// `stream` outlives the object.
  explicit OpenTransfers(const Stream& stream) : stream_(stream) {}
  ~OpenTransfers();
  OpenTransfers(const OpenTransfers&) = delete;
  OpenTransfers& operator=(const OpenTransfers&) = delete;

  /// Called before and after a transfer is queued.
  void begin(const ir::Node* node);
  void end();

  /// The transfer that the stream has reached and not completed; null: it has none, or work of this
  /// rank before the next. Lives as long as the object.
  const Transfer* current();

 private:
  void record(api::EventHandle& event);
  bool is_done(api::EventHandle event) const;

  const Stream& stream_;
  std::deque<Transfer> transfers_;
  std::size_t first_ = 0;  // of the transfers that are not known to be over
};

}  // namespace kiln::cuda
