// Uploads inputs, queues the plan's steps, downloads outputs, and synchronizes once.
#include "backends/cuda/execute/call_memory.h"

#include "backends/codegen/text/grid_text.h"
#include "backends/cuda/device/device_address.h"

#include <algorithm>
#include <new>
#include <numeric>

namespace kiln::cuda {
namespace {

using namespace codegen;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

bool is_over_argument(const CallTensor& result, const CallTensors& tensors) {
  return result.device != 0 &&
         std::any_of(tensors.arguments.begin(), tensors.arguments.end(),
                     [&](const CallTensor& one) { return one.device == result.device; });
}

template <class Element>
bool contains(const std::vector<Element>& list, Element wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

/// Whether a kernel of the plan itself, not of a body, that uses the slot was launched. No other
/// kind of step writes over an argument (find_in_place.h).
bool was_launched(const Plan& plan, int slot, const CallContext& call) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [&](const Step& step) {
    const auto* kernel = std::get_if<KernelStep>(&step);
    return kernel != nullptr && contains(kernel->slots, slot) && contains(call.launches(), kernel);
  });
}

/// Whether a kernel was launched that writes a result over an argument.
bool overwrites_arguments(const Plan& plan, const CallTensors& tensors, const CallContext& call) {
  for (std::size_t i = 0; i < tensors.results.size(); ++i) {
    const bool is_over = is_over_argument(tensors.results[i], tensors);
    if (is_over && was_launched(plan, plan.results[i], call)) return true;
  }
  return false;
}

/// Ends the device, since variables may be partly written, and throws DATA_LOSS.
[[noreturn]] void lose_arguments(const Device& device, const sdk::Failure& reason) {
  const std::string text = reason.what();
  const sdk::Failure failure =
      sdk::Failure(KILN_CODE_DATA_LOSS, text + "; variables that were written over are lost")
          .native(reason.native_library, reason.native_code);
  device.end(failure);
  throw failure;
}

}  // namespace

CallMemory::CallMemory(const DevicePlan& plan, const LoadedProgram& program, std::size_t inputs,
                       std::size_t outputs)
    : plan_(plan),
      layout_(lay_out(plan, inputs, outputs)),
      memory_(allocate(plan, program, layout_.bytes)),
      graphs_(program.resources.uses_graphs) {
  if (plan.longest_loop != 0) upload_counters(program);
  if (plan.arrivals != 0) clear_arrivals(program);
}

CallMemory::Layout CallMemory::lay_out(const DevicePlan& plan, std::size_t inputs,
                                       std::size_t outputs) {
  Layout layout;
  std::int64_t end = 0;
  const auto add = [&](std::int64_t bytes) {
    const std::int64_t begin = end;
    if (bytes > INT64_MAX - 2 * kAlignment || __builtin_add_overflow(end, aligned(bytes), &end)) {
      throw SizeFailure(KILN_CODE_RESOURCE_EXHAUSTED,
                        "the tensors of a call have more bytes than 63 bits count" +
                            largest_tensors(memory_of(plan)));
    }
    return begin;
  };
  add(sizeof(CallBlock));
  layout.arrivals = add(plan.arrivals * std::int64_t{sizeof(std::uint32_t)});
  layout.counters = add(checked_product(plan.longest_loop, sizeof(std::int64_t), nullptr));
  for (std::size_t i = 0; i < inputs; ++i) {
    const int slot = plan.plan->arguments[i];
    layout.inputs.push_back(add(slot < 0 ? 0 : plan.sizes.bytes[at(slot)]));
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    layout.outputs.push_back(add(plan.sizes.bytes[at(plan.plan->results[i])]));
  }
  layout.arena = add(plan.arena.bytes);
  layout.bytes = end;
  return layout;
}

DeviceMemory CallMemory::allocate(const DevicePlan& plan, const LoadedProgram& program,
                                  std::int64_t bytes) {
  try {
    return program.resources.memory->allocate(bytes, "inputs, outputs and temporary tensors");
  } catch (const sdk::Failure& failure) {
    if (failure.code() != KILN_CODE_RESOURCE_EXHAUSTED) throw;
    throw sdk::Failure(failure.code(), failure.what() + largest_tensors(memory_of(plan)));
  }
}

void CallMemory::upload_counters(const LoadedProgram& program) {
  std::vector<std::int64_t> counters(at(plan_.longest_loop));
  std::iota(counters.begin(), counters.end(), std::int64_t{0});
  StreamLease lease(*program.resources.streams);
  lease.staging().upload(address(layout_.counters), counters.data(),
                         plan_.longest_loop * std::int64_t{sizeof(std::int64_t)});
  lease.staging().finish();
}

/// Each launch leaves its counters as 0, the next of a stream or graph begins after it, and a
/// launch that fails ends the device: so this is done once.
void CallMemory::clear_arrivals(const LoadedProgram& program) {
  StreamLease lease(*program.resources.streams);
  const Stream& stream = lease.stream();
  stream.submit(
      [&] {
        return stream.device().driver().memset_8_async(
            address(layout_.arrivals), 0, at(plan_.arrivals) * sizeof(std::uint32_t),
            stream.handle());
      },
      "clear counters");
  lease.staging().finish();
}

api::DeviceAddress CallMemory::address(std::int64_t offset) const {
  return moved(memory_.address(), offset);
}

void CallMemory::run(const LoadedProgram& program, const CallTensors& tensors) {
  StreamLease lease(*program.resources.streams);
  CallContext call{.device = *program.resources.device,
                   .lowered = program.lowered,
                   .constants = program.constants,
                   .host = program.host,
                   .host_call_context = tensors.host_call_context,
                   .stream = lease.stream(),
                   .staging = lease.staging(),
                   .call_block = address(0),
                   .arrivals = address(layout_.arrivals),
                   .counters = address(layout_.counters)};
  CallBlock block;
  block.seed = tensors.seed;
  block.call_counter = tensors.call_counter;
  call.staging.upload(call.call_block, &block, sizeof(block));
  const api::DeviceAddress arena = address(layout_.arena);
  SlotAddresses slots = fixed_addresses(plan_, arena, call);
  place(tensors, slots, call);
  GraphKey key;
  for (const int slot : plan_.plan->arguments) key.push_back(slot < 0 ? 0 : slots[at(slot)]);
  for (const int slot : plan_.plan->results) key.push_back(slots[at(slot)]);
  try {
    graphs_.issue(plan_, arena, slots, call, program.resources.device, std::move(key));
    collect_outputs(tensors, slots, call);
  } catch (const sdk::Failure& failure) {
    const bool is_of_driver = failure.native_library == "CUDA";
    if (!is_of_driver || !overwrites_arguments(*plan_.plan, tensors, call)) throw;
    lose_arguments(call.device, failure);
  } catch (const std::bad_alloc&) {
    if (!overwrites_arguments(*plan_.plan, tensors, call)) throw;
    lose_arguments(call.device, {KILN_CODE_RESOURCE_EXHAUSTED, "the host has no memory"});
  }
}

/// Copies inputs to the device and gives arguments and results their addresses.
void CallMemory::place(const CallTensors& tensors, SlotAddresses& slots, CallContext& call) const {
  const Plan& plan = *plan_.plan;
  for (std::size_t i = 0; i < tensors.arguments.size(); ++i) {
    if (plan.arguments[i] < 0) continue;
    const std::size_t slot = at(plan.arguments[i]);
    slots[slot] = tensors.arguments[i].device;
    const std::int64_t bytes = plan_.sizes.bytes[slot];
    if (tensors.arguments[i].host == nullptr || bytes == 0) continue;
    slots[slot] = address(layout_.inputs[i]);
    call.staging.upload(slots[slot], tensors.arguments[i].host, bytes);
  }
  for (std::size_t i = 0; i < tensors.results.size(); ++i) {
    const CallTensor& result = tensors.results[i];
    slots[at(plan.results[i])] =
        result.host == nullptr ? result.device : address(layout_.outputs[i]);
  }
}

/// One synchronization completes the outputs and the record of an index out of range.
void CallMemory::collect_outputs(const CallTensors& tensors, const SlotAddresses& slots,
                                 CallContext& call) const {
  for (std::size_t i = 0; i < tensors.results.size(); ++i) {
    if (tensors.results[i].host == nullptr) continue;
    const std::size_t slot = at(plan_.plan->results[i]);
    call.staging.download(tensors.results[i].host, slots[slot], plan_.sizes.bytes[slot]);
  }
  finish_call(call);
}

}  // namespace kiln::cuda
