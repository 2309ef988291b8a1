// The reusable state of a call of one program: the sizes of its last call and all that follows from
// them, the io struct that a frame of the backend reads, and references to versions of variables.
// A PreparedCall serves one thread at a time; a program has as many as calls ran concurrently.
// A call with sizes that the backend knows allocates nothing.
#pragma once

#include "core/types/fork.h"
#include "runtime/array/array_memory.h"
#include "runtime/function/compile/compiled_program.h"
#include "runtime/plugin/backend_instance.h"
#include "runtime/variable/variable_state.h"

#include <kiln/array.h>

#include <array>
#include <atomic>
#include <string>
#include <vector>

namespace kiln {
class RandomState;
}

namespace kiln::runtime {

class VariableSnapshot;

class PreparedCall {
 public:
  /// Creates the frame at the backend as well, if the inputs' sizes determine those of the outputs.
  explicit PreparedCall(const CompiledProgram& program);
  PreparedCall(const PreparedCall&) = delete;
  PreparedCall& operator=(const PreparedCall&) = delete;

  /// Checks the inputs and binds their sizes and addresses. Sizes equal to those of the last call
  /// cost one comparison per axis; others are checked again. Throws ValueError, TypeError,
  /// OutOfMemory.
  void bind_inputs(std::span<const ArrayView> inputs);
  void bind_inputs(std::span<const Array> inputs);
  /// Returns `inputs`, with each bool input that has bytes other than 0 and 1 replaced by a
  /// normalised copy, and binds the copies. Their memory is reused by later calls. REQUIRES:
  /// `inputs` are bound. Throws OutOfMemory.
  std::span<const ArrayView> with_canonical_bools(std::span<const ArrayView> inputs);
  /// The values of the program's symbols. REQUIRES: inputs are bound.
  std::span<const std::int64_t> symbols() const { return symbols_; }
  /// Whether the backend has a frame, which reads and writes the caller's memory itself.
  bool is_direct() const { return static_cast<bool>(frame_); }
  /// Returns the dims of output i; a negative one is known only after the call. REQUIRES: inputs
  /// are bound.
  Dims output_dims(std::size_t i) const { return output_types_[i].dims; }

  // ---- REQUIRES for the rest: is_direct(), and inputs are bound ----

  std::span<const UninitialisedArray> output_types() const { return output_types_; }
  /// Checks the outputs' types and binds their addresses. Throws ValueError, TypeError.
  void bind_outputs(std::span<const MutableArrayView> outputs);
  /// Binds the address of output i. REQUIRES: aligned memory for its elements, of its own.
  void bind_output(std::size_t i, void* address) { outputs_[i].data = output_data_[i] = address; }
  /// Whether the backend may be given these addresses: no output overlaps an input or another
  /// output, and elements are aligned. REQUIRES: bind_outputs() of this call.
  bool can_run_in_place();
  void bind_state(std::size_t i, const Buffer& buffer, std::uint64_t version);
  void bind_update(std::size_t i, const Buffer& buffer) { updates_[i] = buffer.handle(); }
  void run(std::uint64_t call_counter);
  /// Normalises bool results to 0 and 1 after a run. BackendError if the plugin changed the views.
  void check_results();

  std::atomic<std::int64_t> calls{0};  // that succeeded; written by the thread with the lease
  const VariableSnapshot* snapshot = nullptr;  // to read variables from; null: current values
  const RandomState* random = nullptr;  // takes the number of a call; null: the process's
  std::uint64_t* taken_number = nullptr;  // receives the number of a call that draws; null: none
  std::vector<VersionRef> held;  // of the states, during a call
  std::vector<VersionRef> next;  // of the updates; empty for one that overwrites its state
  std::vector<Overwrite> overwrites;  // one per update; empty if no update may overwrite
  HostCallContext host_calls;

 private:
  struct AddressRange {
    std::uintptr_t begin, end;
  };
  /// `Input`: ArrayView or Array.
  template <class Input>
  void bind_inputs_of(std::span<const Input> inputs);
  template <class Input>
  void bind_sizes(std::span<const Input> inputs);
  void bind_output_sizes(std::span<const std::int64_t> symbol_values);
  /// Evaluates the size of an axis of output i. ValueError if the expression has no value.
  std::int64_t output_size(std::size_t i, const ir::DimEvaluator& dim,
                           std::span<const std::int64_t> symbol_values) const;
  /// Points the views at shared_sizes_.
  void bind_views();
  /// Whether the plugin left the views and their sizes unchanged.
  bool has_views() const;
  [[noreturn]] void reject_changed_views();

  friend class PreparedCallPool;
  PreparedCall* next_idle_ = nullptr;  // in PreparedCallPool::overflow_
  PreparedCall* next_of_all_ = nullptr;  // in PreparedCallPool::all_

  const CompiledProgram& program_;
  bool sized_ = false;  // the sizes below passed the checks
  std::vector<Dims> given_dims_;  // working memory of bind_sizes()
  std::vector<std::int64_t> symbols_;  // likewise
  std::vector<std::int64_t> sizes_;  // of all axes of all inputs
  std::vector<std::int64_t> output_sizes_;  // of all axes of all outputs
  std::vector<std::size_t> bytes_;  // of each input, then of each output
  std::vector<std::int64_t> shared_sizes_;  // copy of sizes_ and output_sizes_ for the plugin
  std::vector<UninitialisedArray> output_types_;  // with spans of output_sizes_
  std::vector<void*> output_data_;
  std::vector<kiln_view> inputs_, outputs_;
  std::vector<std::size_t> bools_;  // indices of the outputs of dtype bool
  std::vector<kiln_state_in> states_;
  std::vector<kiln_buffer*> updates_;
  std::vector<AddressRange> written_;
  struct BoolInput {
    std::size_t input;
    std::vector<std::byte> copy;  // normalised
  };
  std::vector<BoolInput> bool_inputs_;
  std::vector<ArrayView> canonical_;  // inputs of a call that needed a copy
  bool aligned_ = true;
  kiln_frame_io io_;
  BackendFrame frame_;  // reads io_ and what io_ points to
};

/// Throws for a view that does not match output i, whose dims are `dims`: TypeError for another
/// dtype, ValueError for other dims.
[[noreturn]] void reject_view(const CompiledProgram& program, std::size_t i,
                              std::span<const std::int64_t> dims, const MutableArrayView& view);

/// Describes output i for errors: "outputs[0] (dot at model.cpp:12)".
std::string describe_output(const CompiledProgram& program, std::size_t i);

/// The prepared calls of one program. acquire() and release() are one atomic exchange each while
/// at most 16 calls run concurrently; beyond that they lock. Thread-safe.
class PreparedCallPool {
 public:
  PreparedCallPool() = default;
  PreparedCallPool(const PreparedCallPool&) = delete;
  PreparedCallPool& operator=(const PreparedCallPool&) = delete;
  /// Destroys the idle calls. The others, in a child of fork(), belong to threads of its parent,
  /// which may have been changing them.
  ~PreparedCallPool();

  /// The slot that a thread tries first, so that threads rarely contend for a slot.
  static std::size_t first_slot();
  /// Returns an idle prepared call, or a new one. `first`: first_slot(), here and below.
  PreparedCall& acquire(const CompiledProgram& program, std::size_t first);
  void release(PreparedCall& call, std::size_t first) noexcept;
  /// Returns how many calls succeeded.
  std::int64_t calls() const;

 private:
  struct alignas(64) Slot {
    std::atomic<PreparedCall*> call{nullptr};
  };
  std::array<Slot, 16> slots_;
  mutable ForkMutex mutex_;
  // Lists, each changed by one store, so that they are whole in a child of fork().
  PreparedCall* all_ = nullptr;
  PreparedCall* overflow_ = nullptr;  // idle ones without a slot
};

/// Leases a prepared call of a pool until destroyed.
class PreparedCallLease {
 public:
  PreparedCallLease(PreparedCallPool& pool, const CompiledProgram& program)
      : pool_(pool), first_slot_(pool.first_slot()), call_(pool.acquire(program, first_slot_)) {}
  PreparedCallLease(const PreparedCallLease&) = delete;
  PreparedCallLease& operator=(const PreparedCallLease&) = delete;
  ~PreparedCallLease() { pool_.release(call_, first_slot_); }
  PreparedCall& operator*() const { return call_; }

 private:
  PreparedCallPool& pool_;
  const std::size_t first_slot_;
  PreparedCall& call_;
};

}  // namespace kiln::runtime
