// Transfers of a stream are over in their order.
#include "backends/cuda/execute/open_transfers.h"

namespace kiln::cuda {

OpenTransfers::~OpenTransfers() {
  if (!stream_.device().is_usable()) return;
  const api::Driver& driver = stream_.device().driver();
  for (const Transfer& one : transfers_) {
    if (one.begin != nullptr) driver.event_destroy(one.begin);
    if (one.end != nullptr) driver.event_destroy(one.end);
  }
}

void OpenTransfers::record(api::EventHandle& event) {
  const Device& device = stream_.device();
  device.check(device.driver().event_create(&event, api::EventFlags::DisableTiming),
               "create an event");
  stream_.submit([&] { return device.driver().event_record(event, stream_.handle()); },
                 "record an event");
}

void OpenTransfers::begin(const ir::Node* node) {
  record(transfers_.emplace_back(Transfer{.node = node}).begin);
}

void OpenTransfers::end() { record(transfers_.back().end); }

bool OpenTransfers::is_done(api::EventHandle event) const {
  if (event == nullptr) return false;
  const api::Status status = stream_.device().driver().event_query(event);
  if (status == api::Status::NotReady) return false;
  stream_.device().check(status, "ask for the state of a transfer");
  return true;
}

const OpenTransfers::Transfer* OpenTransfers::current() {
  while (first_ < transfers_.size() && is_done(transfers_[first_].end)) ++first_;
  if (first_ == transfers_.size() || !is_done(transfers_[first_].begin)) return nullptr;
  return &transfers_[first_];
}

}  // namespace kiln::cuda
