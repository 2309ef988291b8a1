#include "runtime/call.h"

#include "core/kiln/context_state.h"

namespace kiln::runtime {
namespace {

/// Write locks of the updated variables in id order, so that two functions cannot wait for each
/// other; empty for a function without updates.
class WriteLocks {
 public:
  explicit WriteLocks(std::span<VariableStorage* const> writers) {
    locks_.reserve(writers.size());
    for (VariableStorage* writer : writers) locks_.emplace_back(writer->writer);
  }

 private:
  std::vector<std::unique_lock<std::mutex>> locks_;
};

void publish(const Program& program, std::vector<Buffer> values) {
  std::vector<BufferPtr> buffers;
  buffers.reserve(values.size());
  for (Buffer& value : values) {
    buffers.push_back(std::make_shared<const Buffer>(std::move(value)));
  }
  // The versions that are replaced are freed after the lock: freeing may be slow.
  const std::unique_lock lock(VariableStorage::publish_mutex());
  for (std::size_t i = 0; i < buffers.size(); ++i) program.updated[i]->publish(buffers[i]);
}

}  // namespace

void run_call(const Program& program, std::span<const Buffer* const> inputs,
              std::span<Buffer> outputs) {
  const WriteLocks locks(program.writers);
  std::vector<BufferPtr> held;
  std::vector<StateInput> states;
  if (!program.state_storages.empty()) {
    const Snapshot snapshot(program.state_storages);
    for (std::size_t i = 0; i < program.state_storages.size(); ++i) {
      held.push_back(snapshot.at(i, program.instance));
      states.push_back({held.back().get(), false});
    }
  }
  std::vector<Buffer> updates(program.updated.size());
  HostCallContext host_calls;
  host_calls.function = program.name;
  ExecuteCall call;
  call.inputs = inputs;
  call.states = states;
  call.outputs = outputs;
  call.updates = updates;
  if (program.draws) call.call_counter = next_call_counter();
  call.host_calls = program.calls_host ? &host_calls : nullptr;
  call.label = program.name;
  program.executable.execute(call).wait();
  if (!updates.empty()) publish(program, std::move(updates));
  program.calls.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace kiln::runtime
