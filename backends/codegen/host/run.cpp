// One function per kind of step.
#include "backends/codegen/host/run.h"

#include "backends/codegen/bind/step_failure.h"
#include "backends/codegen/host/run_row_updates.h"

#include <chrono>
#include <cstring>

namespace kiln::codegen {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Packs what lies in the slot unless the host says that it is what was packed the last time.
void pack(const Tape& tape, int slot, const Packing& packing, std::byte* memory,
          std::uint64_t& packed_version) {
  const std::uint64_t version = tape.versions[at(slot)];
  if (version != 0 && packed_version == version) return;
  packed_version = 0;
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(packing.matrix.dtype));
  packing.product->pack(tape.slot(slot) + packing.rhs * bytes, memory + packing.offset);
  packed_version = version;
}

class Runner {
 public:
  Runner(Tape& tape, const RunContext& context) : tape_(tape), context_(context) {}

  void run() {
    const std::size_t count = tape_.instructions.size();
    if (context_.timed) tape_.times.resize(count + 1);
    if (tape_.region.empty()) return run(tape_.kept_end, count);
    run(tape_.kept_end, tape_.region_begin);
    timed(count, [&] { run_region(); });
    run(tape_.region_end, count);
  }

  void run_kept() {
    if (context_.timed) tape_.times.resize(tape_.instructions.size() + 1);
    run(0, tape_.kept_end);
  }

 private:
  void run(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      timed(i, [&] { run_one(tape_.instructions[i]); });
    }
  }

  template <class Work>
  void timed(std::size_t i, const Work& work) {
    if (!context_.timed) return work();
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    work();
    tape_.times[i].add(std::chrono::duration<double>(Clock::now() - start).count());
  }

  void run_one(Instruction& instruction) {
    std::visit([&](const auto& bound) { run_step(instruction, bound); }, *instruction.bound);
  }

  /// Kernels that do not wait for each other: one dispatch for all of them. They cannot fail.
  void run_region() {
    const std::vector<RegionPart>& parts = tape_.region;
    context_.host->parallel_for(parts.size(), [&](std::uint64_t begin, std::uint64_t end) {
      const ScopedThreadMode mode(context_.mode);
      KernelFault none;
      for (std::uint64_t i = begin; i < end; ++i) {
        const Instruction& instruction = tape_.instructions[parts[i].instruction];
        KernelArguments arguments = instruction.arguments;
        arguments.begin = parts[i].begin;
        while (i + 1 < end && parts[i + 1].instruction == parts[i].instruction) ++i;
        arguments.end = parts[i].end;
        arguments.fault = &none;
        arguments.seed = context_.seed;
        arguments.call_counter = context_.call_counter;
        const KernelFunction& function = std::get<BoundKernel>(*instruction.bound).function;
        function.run(function.context, &arguments);
      }
    });
  }

  void run_step(Instruction& instruction, const BoundKernel& bound) {
    if (bound.empty_axis) throw empty_axis_failure(*context_.module, *bound.empty_axis);
    KernelFault fault;
    KernelArguments& arguments = instruction.arguments;
    arguments.fault = &fault;
    arguments.seed = context_.seed;
    arguments.call_counter = context_.call_counter;
    if (bound.parallel) {
      run_parts(bound, arguments, fault);
    } else {
      bound.function.run(bound.function.context, &arguments);
    }
    if (fault.access < 0) return;
    throw index_failure(*context_.module, *context_.program,
                        std::get<KernelStep>(*instruction.step), fault.access, fault.index,
                        fault.limit);
  }

  /// The fault of the earliest part is reported, whatever ran first.
  void run_parts(const BoundKernel& bound, const KernelArguments& whole, KernelFault& fault) {
    const std::int64_t parts = (bound.range + bound.grain - 1) / bound.grain;
    std::mutex mutex;
    std::int64_t faulty = parts;
    context_.host->parallel_for(
        static_cast<std::uint64_t>(parts), [&](std::uint64_t begin, std::uint64_t end) {
          const ScopedThreadMode mode(context_.mode);
          KernelFault own;
          KernelArguments arguments = whole;
          arguments.begin = static_cast<std::int64_t>(begin) * bound.grain;
          arguments.end = std::min(static_cast<std::int64_t>(end) * bound.grain, bound.range);
          arguments.fault = &own;
          bound.function.run(bound.function.context, &arguments);
          if (own.access < 0) return;
          const std::lock_guard lock(mutex);
          if (arguments.begin >= faulty * bound.grain) return;
          faulty = static_cast<std::int64_t>(begin);
          fault = own;
        });
  }

  void run_step(const Instruction& instruction, const BoundMatmul& bound) {
    const auto& step = std::get<MatmulStep>(*instruction.step);
    const std::byte* lhs = tape_.slot(step.lhs);
    const std::byte* rhs = tape_.slot(step.rhs);
    const std::byte* bias = step.bias < 0 ? nullptr : tape_.slot(step.bias);
    std::byte* result = tape_.slot(step.result);
    if (bound.runs.empty()) return fill_without_depth(step, bound.columns);
    const auto bytes = static_cast<std::int64_t>(dtype_bytes(step.dtype));  // of an element
    std::byte* const packed = tape_.arena + bound.scratch.offset;
    std::byte* const scratch = packed + bound.shared_rhs.bytes;
    const SharedRhs& shared_rhs = bound.shared_rhs;
    if (shared_rhs.packer) shared_rhs.packer->pack(rhs + shared_rhs.begin * bytes, packed);
    const auto right_of = [&](const ProductRun& run) -> const void* {
      if (run.shares_rhs) return packed;
      if (run.packed_offset < 0) return rhs + run.rhs * bytes;
      return tape_.packed + run.packed_offset;
    };
    const auto run_range = [&](std::uint64_t begin, std::uint64_t end, bool shared) {
      for (std::uint64_t i = begin; i < end; ++i) {
        const ProductRun& run = bound.runs[i];
        const std::int64_t skipped = shared ? static_cast<std::int64_t>(i) : 0;
        run.product->run(lhs + run.lhs * bytes, right_of(run),
                         bias ? bias + run.bias * bytes : nullptr, result + run.result * bytes,
                         scratch + skipped * bound.scratch.bytes);
      }
    };
    if (!bound.parallel) return run_range(0, bound.runs.size(), false);
    context_.host->parallel_for(bound.runs.size(), [&](std::uint64_t begin, std::uint64_t end) {
      const ScopedThreadMode mode(context_.mode);
      run_range(begin, end, true);
    });
  }

  void run_step(const Instruction& instruction, const BoundConvolution& bound) {
    const auto& step = std::get<ConvolutionStep>(*instruction.step);
    const auto* first = reinterpret_cast<const float*>(tape_.slot(step.lhs));
    const auto* second = reinterpret_cast<const float*>(tape_.slot(step.rhs));
    auto* result = reinterpret_cast<float*>(tape_.slot(step.result));
    const auto* bias =
        step.bias < 0 ? nullptr : reinterpret_cast<const float*>(tape_.slot(step.bias));
    if (!bound.convolution) return fill_without_depth(step, bound.columns);
    const PreparedConvolution& convolution = *bound.convolution;
    std::byte* scratch = tape_.arena + bound.scratch.offset;
    const void* packed = bound.packed_kernel < 0 ? nullptr : tape_.packed + bound.packed_kernel;
    const auto role = static_cast<ConvRole>(step.node->as<ir::ConvAttrs>().role);
    if (!packed) convolution.start(role == ConvRole::Output ? second : first, scratch);
    const auto run_range = [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t part = begin; part < end; ++part) {
        convolution.run(part, first, second, packed, bias, result, scratch);
      }
    };
    if (bound.parallel) {
      context_.host->parallel_for(convolution.parts(), [&](std::uint64_t begin, std::uint64_t end) {
        const ScopedThreadMode mode(context_.mode);
        run_range(begin, end);
      });
    } else {
      run_range(0, convolution.parts());
    }
    convolution.finish(first, second, bias, result, scratch);
  }

  /// A sum of nothing is 0.
  void fill_without_depth(const LibraryStep& step, std::int64_t columns) {
    const std::int64_t bytes = tape_.plan->sizes.bytes[at(step.result)];
    if (step.bias < 0) return clear(tape_.slot(step.result), bytes);
    if (step.dtype == DType::Float64) return fill_with_bias<double>(step, bytes, columns);
    fill_with_bias<float>(step, bytes, columns);
  }

  static void clear(std::byte* memory, std::int64_t bytes) {
    if (bytes != 0) std::memset(memory, 0, at(bytes));
  }

  /// REQUIRES: dtype float32 or float64, the only ones with epilogues.
  template <class T>
  void fill_with_bias(const LibraryStep& step, std::int64_t bytes, std::int64_t columns) {
    const auto* bias = reinterpret_cast<const T*>(tape_.slot(step.bias));
    auto* result = reinterpret_cast<T*>(tape_.slot(step.result));
    for (std::int64_t i = 0; i < bytes / static_cast<std::int64_t>(sizeof(T)); ++i) {
      const T value = bias[i % columns];
      result[i] = step.relu && value <= 0 ? T(0) : value;
    }
  }

  // ---- loops ----

  void run_step(Instruction& instruction, const BoundLoop& bound) {
    const auto& step = std::get<LoopStep>(*instruction.step);
    const auto& attrs = step.node->as<ir::ScanAttrs>();
    if (bound.length == 0) {
      for (std::size_t i = 0; i < at(attrs.carry); ++i) {
        copy(step.results[i], step.operands[at(attrs.consts) + i]);
      }
      return;
    }
    for (Tape& body : instruction.bodies) {
      enter(body);
      start_loop(step, bound, body);
    }
    pack_operands(instruction);
    copy_ends(bound.first_copies);
    run_groups(step, bound, instruction.bodies);
    copy_ends(bound.last_copies);
  }

  void run_groups(const LoopStep& step, const BoundLoop& bound, std::vector<Tape>& groups) {
    if (groups.size() == 1) return run_group(step, bound, groups[0]);
    context_.host->parallel_for(groups.size(), [&](std::uint64_t begin, std::uint64_t end) {
      const ScopedThreadMode mode(context_.mode);
      for (std::uint64_t group = begin; group < end; ++group) {
        run_group(step, bound, groups[group]);
      }
    });
  }

  void copy_ends(const std::vector<LoopEndCopy>& copies) {
    for (const LoopEndCopy& one : copies) {
      if (one.bytes == 0) continue;
      std::memcpy(tape_.slot(one.to) + one.to_offset, tape_.slot(one.from) + one.from_offset,
                  at(one.bytes));
    }
  }

  /// Throws when the body cannot run with the sizes of this call.
  static void enter(const Tape& body) {
    const std::optional<BindFailure>& failure = body.plan->failure;
    if (failure) throw sdk::Failure(failure->code, failure->text);
  }

  static void bind(Tape& body, std::size_t argument, std::byte* where) {
    const int slot = body.plan->plan->arguments[argument];
    if (slot >= 0) body.place(slot, where);
  }

  /// The body's arguments and results as the first iteration has them.
  void start_loop(const LoopStep& step, const BoundLoop& bound, Tape& body) {
    const auto& attrs = step.node->as<ir::ScanAttrs>();
    const auto carries = at(attrs.carry), consts = at(attrs.consts);
    const std::int64_t t = attrs.reverse ? bound.length - 1 : 0;
    body.step_number = t;
    bind(body, 0, reinterpret_cast<std::byte*>(&body.step_number));
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      const std::int64_t moved =
          i < consts + carries ? 0 : t * bound.slice_bytes[i - consts - carries];
      bind(body, 1 + i, tape_.slot(step.operands[i]) + moved);
    }
    const std::size_t xs = step.operands.size() - consts - carries;
    for (std::size_t i = 0; i < step.results.size(); ++i) {
      std::byte* where = tape_.slot(step.results[i]);
      if (i >= carries) where += t * bound.slice_bytes[xs + i - carries];
      body.place(body.plan->plan->results[i], where);
    }
    for (const CarryStacks& stacks : step.carry_stacks) {
      const LoopCarry& carry = bound.carries[at(stacks.carry)];
      if (stacks.before < 0) continue;
      body.place(carry.argument, body.slot(body.plan->plan->results[at(stacks.before)]));
    }
    for (const LoopCarry& carry : bound.carries) place_new_value(step, bound, carry, body, 0);
  }

  /// Where iteration `done` writes the carry: the last one where the loop's result belongs, the
  /// others to the carry's stack or in turns to two buffers.
  void place_new_value(const LoopStep& step, const BoundLoop& bound, const LoopCarry& carry,
                       Tape& body, std::int64_t done) {
    const std::int64_t left = bound.length - 1 - done;
    std::byte* where = tape_.slot(step.results[carry.number]);
    if (carry.stack >= 0) {
      if (left > 0 || carry.ends_in_stack) where = body.slot(carry.stack) + carry.ahead;
    } else if (left % 2 != 0) {
      where = tape_.arena + bound.spare_offsets[carry.number];
    }
    body.place(carry.result, where);
  }

  /// Operands of products that stay the same while the loop runs, in the form that the products
  /// like best; what the host says is unchanged since the last time is packed still.
  void pack_operands(Instruction& instruction) {
    const auto& step = std::get<LoopStep>(*instruction.step);
    const Tape& body = instruction.bodies[0];
    const std::vector<Packing>& packings = body.plan->packings;
    for (std::size_t i = 0; i < packings.size(); ++i) {
      const int source = step.operands[at(packings[i].source)];
      pack(tape_, source, packings[i], body.packed, instruction.packed_versions[i]);
    }
  }

  /// The whole loop for one group of rows.
  void run_group(const LoopStep& step, const BoundLoop& bound, Tape& body) {
    Runner runner(body, context_);
    runner.run();
    for (std::int64_t done = 1; done < bound.length; ++done) {
      advance(step, bound, body, done);
      runner.run();
    }
  }

  void advance(const LoopStep& step, const BoundLoop& bound, Tape& body, std::int64_t done) {
    for (const LoopMove& move : bound.moves) {
      body.place(move.slot, body.slot(move.slot) + move.bytes);
    }
    body.step_number += bound.direction;
    for (const LoopCarry& carry : bound.carries) {
      if (carry.argument >= 0) body.place(carry.argument, body.slot(carry.result));
      place_new_value(step, bound, carry, body, done);
    }
  }

  // ---- the others ----

  void run_step(Instruction& instruction, const BoundBranch&) {
    const auto& step = std::get<BranchStep>(*instruction.step);
    const bool taken = *tape_.slot(step.operands[0]) != std::byte{0};
    Tape& body = instruction.bodies[taken ? 0 : 1];
    enter(body);
    for (std::size_t i = 1; i < step.operands.size(); ++i) {
      bind(body, i - 1, tape_.slot(step.operands[i]));
    }
    for (std::size_t i = 0; i < step.results.size(); ++i) {
      body.place(body.plan->plan->results[i], tape_.slot(step.results[i]));
    }
    Runner(body, context_).run();
  }

  void run_step(const Instruction& instruction, const BoundHostCall&) {
    const auto& step = std::get<HostCallStep>(*instruction.step);
    const auto& attrs = step.node->as<ir::HostCallAttrs>();
    const auto view = [&](int number) {
      const Slot& slot = tape_.plan->plan->slots[at(number)];
      return sdk::view(static_cast<std::uint32_t>(slot.dtype), tape_.plan->sizes.dims[at(number)],
                       tape_.slot(number));
    };
    std::vector<kiln_view> inputs, outputs;
    for (std::size_t i = 1; i < step.operands.size(); ++i) inputs.push_back(view(step.operands[i]));
    for (const int result : step.results) outputs.push_back(view(result));
    const auto* payload = reinterpret_cast<const std::byte*>(attrs.payload.data());
    try {
      context_.host->host_call(context_.host_call_context, attrs.function,
                               {payload, attrs.payload.size()}, inputs, outputs);
    } catch (const sdk::Failure& failure) {
      throw step_failure(*context_.module, *step.node, failure.code(), failure.what());
    }
  }

  void run_step(const Instruction& instruction, const BoundRowUpdates& bound) {
    run_row_updates(std::get<RowUpdateStep>(*instruction.step), bound, tape_, context_);
  }

  void run_step(const Instruction& instruction, const BoundCopy& bound) {
    const auto& step = std::get<CopyStep>(*instruction.step);
    std::memcpy(tape_.slot(step.to) + bound.begin, tape_.slot(step.from) + bound.begin,
                at(bound.bytes));
  }

  void copy(int to, int from) {
    const std::int64_t bytes = tape_.plan->sizes.bytes[at(to)];
    if (bytes != 0) std::memcpy(tape_.slot(to), tape_.slot(from), at(bytes));
  }

  Tape& tape_;
  const RunContext& context_;
};

/// Runs the kept steps unless the host says that their arguments are those of the last time.
void run_kept_steps(Frame& frame, const RunContext& context) {
  Tape& tape = frame.top;
  const BoundPlan& plan = *tape.plan;
  bool is_known = true, is_changed = false;
  for (std::size_t i = 0; i < plan.kept_arguments.size(); ++i) {
    const std::uint64_t version = tape.versions[at(plan.kept_arguments[i])];
    is_known = is_known && version != 0;
    is_changed = is_changed || version != frame.kept_versions[i];
  }
  if (is_known && !is_changed) return;
  // A run that fails leaves nothing that a later one may use.
  frame.kept_versions.assign(frame.kept_versions.size(), 0);
  Runner(tape, context).run_kept();
  for (std::size_t i = 0; i < plan.kept_arguments.size(); ++i) {
    frame.kept_versions[i] = tape.versions[at(plan.kept_arguments[i])];
  }
  ++frame.kept_runs;
  for (std::size_t slot = 0; slot < plan.kept_offsets.size(); ++slot) {
    if (plan.kept_offsets[slot] >= 0) tape.versions[slot] = is_known ? frame.kept_runs : 0;
  }
}

}  // namespace

void run_plan(Frame& frame, const RunContext& context) {
  const ScopedThreadMode mode(context.mode);
  if (frame.top.kept_end != 0) run_kept_steps(frame, context);
  const std::vector<Packing>& packings = frame.top.plan->packings;
  for (std::size_t i = 0; i < packings.size(); ++i) {
    pack(frame.top, packings[i].source, packings[i], frame.packed.get(), frame.packed_versions[i]);
  }
  Runner(frame.top, context).run();
}

}  // namespace kiln::codegen
