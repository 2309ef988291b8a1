// One function per kind of step.
#include "backends/codegen/run.h"

#include "core/ops/op.h"
#include "core/types/text.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace kiln::codegen {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// The mode of the target while it lives.
class Entered {
 public:
  explicit Entered(const ThreadMode& mode)
      : mode_(mode), saved_(mode.enter ? mode.enter() : 0) {}
  ~Entered() {
    if (mode_.leave) mode_.leave(saved_);
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  const ThreadMode& mode_;
  std::uint64_t saved_;
};

void set_up(const BoundPlan& plan, PlanFrame& frame, std::byte* arena) {
  const Plan& steps = *plan.plan;
  for (std::size_t i = 0; i < steps.slots.size(); ++i) {
    std::byte* place = nowhere();
    const Slot& slot = steps.slots[i];
    if (slot.kind == Slot::Kind::Constant && plan.bytes[i] != 0) {
      place = const_cast<std::byte*>(slot.bytes->data());  // never written
    }
    if (slot.kind == Slot::Kind::Temporary && plan.offsets[i] >= 0) {
      place = arena + plan.offsets[i];
    }
    frame.slots.push_back(place);
  }
  frame.buffers.resize(steps.steps.size());
  frame.bodies.resize(steps.steps.size());
  for (std::size_t s = 0; s < steps.steps.size(); ++s) {
    if (const auto* kernel = std::get_if<KernelStep>(&steps.steps[s])) {
      frame.buffers[s].resize(kernel->slots.size());
    }
    const BoundStep& bound = plan.steps[s];
    for (std::size_t b = 0; b < bound.bodies.size(); ++b) {
      frame.bodies[s].emplace_back();
      set_up(*bound.bodies[b], frame.bodies[s].back(), arena + bound.body_offsets[b]);
    }
  }
}

class Runner {
 public:
  Runner(const BoundPlan& plan, PlanFrame& frame, const RunContext& context, std::byte* arena)
      : plan_(plan), frame_(frame), context_(context), arena_(arena) {}

  void run() {
    const auto& steps = plan_.plan->steps;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      std::visit([&](const auto& step) { run_step(step, plan_.steps[s], s); }, steps[s]);
    }
  }

 private:
  std::byte* slot(int number) const { return frame_.slots[at(number)]; }

  void run_step(const KernelStep& step, const BoundStep& bound, std::size_t s) {
    if (bound.range == 0) return;
    if (bound.empty_axis) {
      fail(*bound.empty_axis, KILN_CODE_INVALID_ARGUMENT, "arg_max over an axis without elements");
    }
    std::vector<std::byte*>& buffers = frame_.buffers[s];
    for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i] = slot(step.slots[i]);
    KernelArguments arguments;
    arguments.buffers = buffers.data();
    arguments.sizes = bound.sizes.data();
    arguments.seed = context_.seed;
    arguments.call_counter = context_.call_counter;
    KernelFault fault;
    if (!bound.parallel) {
      arguments.begin = bound.begin;
      arguments.end = bound.begin + bound.range;
      arguments.fault = &fault;
      bound.function.run(bound.function.context, &arguments);
    } else {
      run_parts(bound, arguments, fault);
    }
    if (fault.access >= 0) report(step, fault);
  }

  /// The fault of the earliest part is reported, whatever ran first.
  void run_parts(const BoundStep& bound, const KernelArguments& whole, KernelFault& fault) {
    const std::int64_t parts = (bound.range + bound.grain - 1) / bound.grain;
    std::mutex mutex;
    std::int64_t faulty = parts;
    context_.host->parallel_for(
        static_cast<std::uint64_t>(parts), [&](std::uint64_t begin, std::uint64_t end) {
          const Entered entered(context_.mode);
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

  void run_step(const ProductStep& step, const BoundStep& bound, std::size_t) {
    const auto* lhs = reinterpret_cast<const float*>(slot(step.lhs));
    const auto* rhs = reinterpret_cast<const float*>(slot(step.rhs));
    auto* result = reinterpret_cast<float*>(slot(step.result));
    if (bound.runs.empty()) {
      const std::int64_t bytes = plan_.bytes[at(step.result)];
      if (bytes != 0) std::memset(result, 0, at(bytes));
      return;
    }
    std::byte* scratch = arena_ + bound.scratch_offset;
    const auto run_range = [&](std::uint64_t begin, std::uint64_t end, bool shared) {
      for (std::uint64_t i = begin; i < end; ++i) {
        const ProductRun& run = bound.runs[i];
        const std::int64_t skipped = shared ? static_cast<std::int64_t>(i) : 0;
        std::byte* own = scratch + skipped * bound.scratch_bytes;
        run.product->run(lhs + run.lhs, rhs + run.rhs, result + run.result, own);
      }
    };
    if (!bound.parallel) return run_range(0, bound.runs.size(), false);
    context_.host->parallel_for(bound.runs.size(), [&](std::uint64_t begin, std::uint64_t end) {
      const Entered entered(context_.mode);
      run_range(begin, end, true);
    });
  }

  void run_step(const LoopStep& step, const BoundStep& bound, std::size_t s) {
    if (bound.length == 0) {
      const auto& attrs = step.node->as<ir::ScanAttrs>();
      for (std::size_t i = 0; i < at(attrs.carry); ++i) {
        copy(step.results[i], step.operands[at(attrs.consts) + i]);
      }
      return;
    }
    if (bound.bodies.size() == 1) return run_group(step, bound, s, 0);
    context_.host->parallel_for(bound.bodies.size(), [&](std::uint64_t begin, std::uint64_t end) {
      const Entered entered(context_.mode);
      for (std::uint64_t group = begin; group < end; ++group) run_group(step, bound, s, group);
    });
  }

  /// The whole loop for one group of rows.
  void run_group(const LoopStep& step, const BoundStep& bound, std::size_t s, std::size_t group) {
    const auto& attrs = step.node->as<ir::ScanAttrs>();
    const BoundPlan& body = *bound.bodies[group];
    PlanFrame& inner = frame_.bodies[s][group];
    const auto carries = at(attrs.carry), consts = at(attrs.consts);
    const auto bind = [&](std::size_t argument, std::byte* place) {
      const int number = body.plan->arguments[argument];
      if (number >= 0) inner.slots[at(number)] = place;
    };
    const auto bind_result = [&](std::size_t result, std::byte* place) {
      inner.slots[at(body.plan->results[result])] = place;
    };
    bind(0, reinterpret_cast<std::byte*>(&inner.step_number));
    for (std::size_t i = 0; i < consts; ++i) bind(1 + i, slot(step.operands[i]));
    for (std::size_t i = 0; i < carries; ++i) {
      bind(1 + consts + i, slot(step.operands[consts + i]));
    }
    const std::size_t xs = step.operands.size() - consts - carries;
    for (std::int64_t i = 0; i < bound.length; ++i) {
      const std::int64_t t = attrs.reverse ? bound.length - 1 - i : i;
      inner.step_number = t;
      // The last step writes where the loop's result belongs, the others take turns.
      const bool own = (bound.length - 1 - i) % 2 == 0;
      for (std::size_t c = 0; c < carries; ++c) {
        bind_result(c, own ? slot(step.results[c]) : arena_ + bound.spare_offsets[c]);
      }
      for (std::size_t x = 0; x < xs; ++x) {
        bind(1 + consts + carries + x,
             slot(step.operands[consts + carries + x]) + t * bound.slice_bytes[x]);
      }
      for (std::size_t y = carries; y < step.results.size(); ++y) {
        bind_result(y, slot(step.results[y]) + t * bound.slice_bytes[xs + y - carries]);
      }
      Runner(body, inner, context_, arena_ + bound.body_offsets[group]).run();
      for (std::size_t c = 0; c < carries; ++c) {
        bind(1 + consts + c, inner.slots[at(body.plan->results[c])]);
      }
    }
  }

  void run_step(const BranchStep& step, const BoundStep& bound, std::size_t s) {
    const bool taken = *slot(step.operands[0]) != std::byte{0};
    const std::size_t branch = taken ? 0 : 1;
    const BoundPlan& body = *bound.bodies[branch];
    PlanFrame& inner = frame_.bodies[s][branch];
    for (std::size_t i = 1; i < step.operands.size(); ++i) {
      const int number = body.plan->arguments[i - 1];
      if (number >= 0) inner.slots[at(number)] = slot(step.operands[i]);
    }
    for (std::size_t i = 0; i < step.results.size(); ++i) {
      inner.slots[at(body.plan->results[i])] = slot(step.results[i]);
    }
    Runner(body, inner, context_, arena_ + bound.body_offsets[branch]).run();
  }

  void run_step(const HostCallStep& step, const BoundStep&, std::size_t) {
    const auto& attrs = step.node->as<ir::HostCallAttrs>();
    const auto view = [&](int number) {
      const auto dtype = static_cast<std::uint32_t>(plan_.plan->slots[at(number)].dtype);
      return sdk::view(dtype, plan_.dims[at(number)], slot(number));
    };
    std::vector<kiln_view> inputs, outputs;
    for (std::size_t i = 1; i < step.operands.size(); ++i) inputs.push_back(view(step.operands[i]));
    for (int result : step.results) outputs.push_back(view(result));
    const auto* payload = reinterpret_cast<const std::byte*>(attrs.payload.data());
    try {
      context_.host->host_call(context_.host_call_context, attrs.function,
                               {payload, attrs.payload.size()}, inputs, outputs);
    } catch (const sdk::Failure& failure) {
      fail(*step.node, failure.code(), failure.what());
    }
  }

  void run_step(const CopyStep& step, const BoundStep& bound, std::size_t) {
    if (bound.copy_bytes == 0) return;
    std::memcpy(slot(step.to) + bound.copy_begin, slot(step.from) + bound.copy_begin,
                at(bound.copy_bytes));
  }

  void copy(int to, int from) {
    const std::int64_t bytes = plan_.bytes[at(to)];
    if (bytes != 0) std::memcpy(slot(to), slot(from), at(bytes));
  }

  // ---- errors ----

  [[noreturn]] void fail(const ir::Node& node, std::uint32_t code, const std::string& what) const {
    const ir::Origin& origin = context_.module->origin_of(node);
    std::string place = text(" (op ", def(node).name);
    if (origin.where.known()) place += text(" at ", origin.where.file, ":", origin.where.line);
    throw sdk::Failure(code, what + place + ")");
  }

  [[noreturn]] void report(const KernelStep& step, const KernelFault& fault) const {
    const BuiltKernel& built = context_.program->kernels[at(step.kernel)];
    const ir::Node* node = built.access_nodes[at(fault.access)];
    fail(*node, KILN_CODE_OUT_OF_RANGE,
         text("index ", fault.index, " is outside of an axis of size ", fault.limit));
  }

  const BoundPlan& plan_;
  PlanFrame& frame_;
  const RunContext& context_;
  std::byte* arena_;
};

}  // namespace

std::byte* nowhere() {
  alignas(kAlignment) static std::byte place[kAlignment];
  return place;
}

Frame::Frame(const BoundPlan& plan) {
  const std::int64_t bytes = std::max(plan.arena_bytes, kAlignment);
  arena = static_cast<std::byte*>(std::aligned_alloc(at(kAlignment), at(bytes)));
  if (!arena) {
    throw sdk::Failure(KILN_CODE_RESOURCE_EXHAUSTED,
                       text("no memory for ", bytes, " bytes of temporary tensors"));
  }
  set_up(plan, top, arena);
}

Frame::~Frame() { std::free(arena); }

void run_plan(const BoundPlan& plan, Frame& frame, const RunContext& context) {
  const Entered entered(context.mode);
  Runner(plan, frame.top, context, frame.arena).run();
}

}  // namespace kiln::codegen
