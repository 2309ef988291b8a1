// Implements prepared calls for a backend that has only execute. Part of kiln_backend_sdk.h.
#pragma once

#include "kiln_backend_sdk.h"

namespace kiln::sdk {

/// A frame that calls Executable::execute with HostBuffers that borrow the host's memory. For
/// backends whose execute reads and writes HostBuffers.
class HostFrame final : public Frame {
 public:
  HostFrame(const Executable& program, const FrameIo& io) : program_(program), io_(io) {}
  void run() override;

 private:
  void follow_sizes();
  static void await(Event& event);
  void point(const kiln_view& view, std::unique_ptr<HostBuffer>& buffer);

  const Executable& program_;
  FrameIo io_;
  bool sized_ = false;
  std::uint64_t serial_ = 0;
  std::vector<std::unique_ptr<HostBuffer>> inputs_, outputs_;
  std::vector<Buffer*> input_list_;
  std::vector<StateIn> states_;
  std::vector<Result> results_, updates_;
};

inline void HostFrame::point(const kiln_view& view, std::unique_ptr<HostBuffer>& buffer) {
  buffer = std::make_unique<HostBuffer>(view.dtype, abi::view_of(view.dims), view.data);
}

inline void HostFrame::follow_sizes() {
  if (sized_ && serial_ == io_.sizes_serial()) return;
  sized_ = false;
  inputs_.resize(io_.input_count());
  outputs_.resize(io_.output_count());
  input_list_.resize(inputs_.size());
  states_.resize(io_.state_count());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    point(io_.input(i), inputs_[i]);
    input_list_[i] = inputs_[i].get();
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) point(io_.output(i), outputs_[i]);
  results_.resize(outputs_.size());
  updates_.resize(io_.update_count());
  serial_ = io_.sizes_serial();
  sized_ = true;
}

inline void HostFrame::run() {
  follow_sizes();
  for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i]->borrow(io_.input(i).data);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    outputs_[i]->borrow(io_.output(i).data);
    results_[i].given = outputs_[i].get();
  }
  for (std::size_t i = 0; i < states_.size(); ++i) {
    states_[i] = {&io_.state(i), false, io_.state_version(i)};
  }
  for (std::size_t i = 0; i < updates_.size(); ++i) updates_[i].given = &io_.update(i);
  Call call;
  call.inputs = input_list_;
  call.states = states_;
  call.outputs = results_;
  call.updates = updates_;
  call.seed = io_.seed();
  call.call_counter = io_.call_counter();
  call.host_call_context = io_.host_call_context();
  call.label = io_.label();
  const Owned<Event> event = program_.execute(call);
  if (event) await(*event);
}

inline void HostFrame::await(Event& event) {
  constexpr int kMaxWaits = 1'000'000;  // as many as the host allows
  for (int i = 0; i < kMaxWaits; ++i) {
    if (event.wait(KILN_WAIT_FOREVER)) return;
  }
  throw Failure(KILN_CODE_INTERNAL, "Event::wait returned " + std::to_string(kMaxWaits) +
                                        " times without limit before the work was over");
}

}  // namespace kiln::sdk
