// Checks the addresses of a variant pack and queues the work of a plan.
#include "tests/backends/cuda_fakes/cudnn/queued_attention.h"
#include "tests/backends/cuda_fakes/cudnn/queued_convolution.h"
#include "tests/backends/cuda_fakes/cudnn/state.h"

#include <memory>

namespace kiln::fake_cudnn {
namespace {

using A = CudnnAttribute;
using fake_cuda::driver_calls;

/// The reason why the plan cannot run with these addresses; empty: it can.
std::string reason_of_addresses(const QueuedConvolution& queued) {
  const Problem& problem = queued.problem;
  const std::uint64_t all = queued.input | queued.filter | queued.output;
  if (all % static_cast<std::uint64_t>(problem.input.alignment) != 0) {
    return "an address is less aligned than its descriptor says";
  }
  if (queued.workspace_bytes != 0 && queued.workspace == 0) return "no workspace";
  if (queued.workspace % 256 != 0) return "the workspace is not aligned to 256 bytes";
  return "";
}

/// Runs the work on the handle's stream.
template <class Work>
CudnnStatus enqueue(const CudnnHandleTarget& handle, const Descriptor& plan,
                    std::unique_ptr<Work> work) {
  state().workspaces += plan.workspace == 0 ? 0 : 1;
  state().engine = plan.engine;
  const auto run = [](void* one) { return static_cast<const Work*>(one)->run(); };
  const auto destroy = [](void* one) { delete static_cast<Work*>(one); };
  const int status = driver_calls().enqueue(handle.stream, run, work.release(), destroy);
  return status == 0 ? CudnnStatus::Success : CudnnStatus::ExecutionFailed;
}

/// Takes the addresses and values of the graph's tensors. Returns a reason to reject them; empty:
/// there is none.
std::string take_tensors(const Descriptor& pack, QueuedAttention& queued) {
  const auto ids = pack.list<std::int64_t>(A::PackIds);
  const auto pointers = pack.list<std::uint64_t>(A::PackPointers);
  if (ids.size() != pointers.size()) return "other pointers than identifiers";
  std::map<std::int64_t, std::uint64_t> given;
  for (std::size_t i = 0; i < ids.size(); ++i) given[ids[i]] = pointers[i];
  std::set<std::int64_t> needed;
  const auto take = [&](const GraphTensor& one) -> std::string {
    const std::int64_t id = one.tensor.id;
    if (one.is_virtual || !needed.insert(id).second) return "";
    if (!given.contains(id)) return "a tensor has no pointer";
    if (one.is_value) {
      queued.values[id] = *reinterpret_cast<const float*>(given[id]);
      return "";
    }
    if (given[id] % static_cast<std::uint64_t>(one.tensor.alignment) != 0) {
      return "an address is less aligned than its descriptor says";
    }
    queued.addresses[id] = given[id];
    return "";
  };
  for (const Operation& operation : queued.operations) {
    std::vector<GraphTensor> all = operation.inputs;
    all.push_back(operation.output);
    for (const GraphTensor& one : all) {
      if (const std::string reason = take(one); !reason.empty()) return reason;
    }
  }
  return needed.size() == given.size() ? "" : "other tensors than those of the plan";
}

CudnnStatus execute_attention(const CudnnHandleTarget& handle, const Descriptor& plan,
                              const Descriptor& pack) {
  auto queued = std::make_unique<QueuedAttention>();
  queued->operations = *plan.operations;
  queued->workspace = pack.one<std::uint64_t>(A::PackWorkspace);
  queued->workspace_bytes = plan.workspace;
  const std::string reason = take_tensors(pack, *queued);
  if (!reason.empty()) return reject_misuse(reason);
  if (plan.workspace != 0 && queued->workspace == 0) return reject_misuse("no workspace");
  if (queued->workspace % 256 != 0) return reject_misuse("an unaligned workspace");
  return enqueue(handle, plan, std::move(queued));
}

}  // namespace

CudnnStatus execute(const CudnnHandleTarget& handle, const Descriptor& plan,
                    const Descriptor& pack) {
  if (handle.stream == nullptr) return reject_misuse("the handle has no stream");
  if (plan.operations != nullptr) return execute_attention(handle, plan, pack);
  const auto ids = pack.list<std::int64_t>(A::PackIds);
  const auto pointers = pack.list<std::uint64_t>(A::PackPointers);
  const Problem& problem = plan.problem;
  if (ids != std::vector{problem.input.id, problem.filter.id, problem.output.id} ||
      pointers.size() != 3) {
    return reject_misuse("other tensors than those of the plan");
  }
  auto queued = std::make_unique<QueuedConvolution>(
      QueuedConvolution{problem, plan.engine, pointers[0], pointers[1], pointers[2],
                        pack.one<std::uint64_t>(A::PackWorkspace), plan.workspace});
  const std::string reason = reason_of_addresses(*queued);
  if (!reason.empty()) return reject_misuse(reason);
  return enqueue(handle, plan, std::move(queued));
}

}  // namespace kiln::fake_cudnn
