// What one call of a program needs besides its arguments, made once and used by call after call:
// the sizes of the last call with everything that follows from them, the struct that a prepared
// call at the backend reads, and places for the versions of variables. A frame serves one thread
// at a time; a program keeps as many as there were calls at once.
#pragma once

#include "runtime/function/compile/program.h"
#include "runtime/plugin/backend_instance.h"
#include "runtime/variable/variable_state.h"

#include <kiln/array.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace kiln::runtime {

class Moment;

class CallFrame {
 public:
  explicit CallFrame(const Program& program);
  CallFrame(const CallFrame&) = delete;
  CallFrame& operator=(const CallFrame&) = delete;

  /// Checks the inputs and takes over their sizes and addresses; sizes that are those of the call
  /// before cost a comparison. ValueError, TypeError.
  void bind_inputs(std::span<const ArrayView> inputs);
  /// `inputs` with bools of 0 and 1 alone: where there are other bytes, a copy that the frame keeps
  /// for later calls. REQUIRES: they are bound; what is bound changes, too.
  std::span<const ArrayView> with_canonical_bools(std::span<const ArrayView> inputs);
  /// Whether the backend reads and writes the caller's memory itself.
  bool is_direct() const { return static_cast<bool>(prepared_); }
  /// REQUIRES: inputs are bound. Negative: not known before the call.
  Dims output_dims(std::size_t i) const;
  /// REQUIRES for the rest: is_direct(), inputs are bound.
  /// Checks the outputs' types and takes over their addresses. ValueError, TypeError.
  void bind_outputs(std::span<const MutableArrayView> outputs);
  /// False when the backend must not be given these addresses: an output shares memory with an
  /// input or another output, or an element is not aligned.
  bool is_separate();
  void bind_state(std::size_t i, const Buffer& buffer, std::uint64_t version);
  void bind_update(std::size_t i, const Buffer& buffer) { updates_[i] = buffer.handle(); }
  void run(std::uint64_t call_counter);
  /// After a run: bools become 0 or 1. BackendError where the plugin changed the views that it was
  /// given.
  void check_results();

  std::atomic<std::int64_t> calls{0};  // that succeeded; written by the thread that has the frame
  const Moment* moment = nullptr;      // of the call: whose values it takes; null: those of now
  std::vector<VersionRef> held;        // of the states, during a call
  std::vector<VersionRef> next;        // of the updates; none where the state is written over
  std::vector<Overwrite> overwrites;   // of the updates; empty when none may
  std::vector<MutableArrayView> result_views;  // of the results of a call that gives Arrays
  HostCallContext host_calls;

 private:
  struct Range {
    std::uintptr_t begin, end;
  };
  void bind_sizes(std::span<const ArrayView> inputs);
  void bind_output_sizes(std::span<const std::int64_t> symbol_values);
  /// Of an axis of output i. ValueError when these sizes give it no value.
  std::int64_t output_size(std::size_t i, const ir::DimProgram& dim,
                           std::span<const std::int64_t> symbol_values) const;
  /// Points the views at the sizes that the plugin sees.
  void bind_views();
  /// Whether the plugin left the views and their sizes as they were.
  bool has_views() const;
  [[noreturn]] void refuse_views();

  const Program& program_;
  bool sized_ = false;                      // the sizes below are those of a call that was checked
  std::vector<std::int64_t> sizes_;         // of all axes of all inputs
  std::vector<std::int64_t> output_sizes_;  // of all axes of all outputs
  std::vector<std::size_t> bytes_;          // of each input, then of each output
  std::vector<std::int64_t> shown_sizes_;   // both, where the plugin sees them
  std::vector<Dims> output_dims_;           // in output_sizes_
  std::vector<void*> output_data_;
  std::vector<kiln_view> inputs_, outputs_;
  std::vector<std::size_t> bools_;          // the outputs of dtype bool
  std::vector<kiln_state_in> states_;
  std::vector<kiln_buffer*> updates_;
  std::vector<Range> written_;
  struct BoolInput {
    std::size_t input;
    std::vector<std::byte> copy;  // of the last call that needed one
  };
  std::vector<BoolInput> bool_inputs_;
  std::vector<ArrayView> canonical_;  // the inputs of a call that needed one
  bool aligned_ = true;
  kiln_frame_io io_;
  Frame prepared_;  // looks at io_ and what it names
};

/// Output i has these dims but the view has others (ValueError), or another dtype (TypeError).
[[noreturn]] void refuse_view(const Program& program, std::size_t i,
                              std::span<const std::int64_t> dims, const MutableArrayView& view);

/// "outputs[0] (dot at model.cpp:12)", for errors.
std::string describe_output(const Program& program, std::size_t i);

/// The frames of one program. Taking one and giving it back is one atomic exchange each as long as
/// there are few calls at once.
class FramePool {
 public:
  CallFrame& take(const Program& program);
  void give_back(CallFrame& frame) noexcept;
  /// How many calls succeeded.
  std::int64_t calls() const;

 private:
  struct alignas(64) Slot {
    std::atomic<CallFrame*> frame{nullptr};
  };
  std::array<Slot, 16> slots_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<CallFrame>> all_;
  std::vector<CallFrame*> more_;  // free ones that found no slot; has room for all
};

/// A frame for the duration of a call.
class FrameLease {
 public:
  FrameLease(FramePool& pool, const Program& program)
      : pool_(pool), frame_(pool.take(program)) {}
  FrameLease(const FrameLease&) = delete;
  FrameLease& operator=(const FrameLease&) = delete;
  ~FrameLease() { pool_.give_back(frame_); }
  CallFrame& operator*() const { return frame_; }

 private:
  FramePool& pool_;
  CallFrame& frame_;
};

}  // namespace kiln::runtime
