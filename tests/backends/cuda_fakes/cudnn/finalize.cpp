// Checks descriptors as a whole, and hands problems on from operations to graphs, engines and
// plans.
#include "tests/backends/cuda_fakes/cudnn/attention.h"
#include "tests/backends/cuda_fakes/cudnn/problem.h"
#include "tests/backends/cuda_fakes/cudnn/state.h"

#include <cstdio>

namespace kiln::fake_cudnn {
namespace {

using A = CudnnAttribute;

/// Results are 1 x the convolution + 0 x what was there.
bool has_scales(const Descriptor& operation, const Problem& problem) {
  const bool is_wide = problem.input.type == CudnnDataType::Float64;
  const auto wanted = is_wide ? CudnnAttributeType::Float64 : CudnnAttributeType::Float32;
  std::vector<double> scales;
  for (const auto& [name, value] : operation.values) {
    if (value.type == CudnnAttributeType::Descriptor) continue;
    if (value.type != wanted) return false;
    scales.push_back(is_wide ? operation.one<double>(name)
                             : static_cast<double>(operation.one<float>(name)));
  }
  return scales == std::vector<double>{1, 0};  // alpha's number is below beta's
}

CudnnStatus finalize_operation(Descriptor& operation) {
  if (is_part_of_attention(operation.type)) {
    const std::string reason = reason_to_reject(operation_of(operation));
    return reason.empty() ? CudnnStatus::Success : reject_misuse(reason);
  }
  operation.problem = problem_of(operation);
  const std::string reason = reason_to_reject(operation.problem);
  if (!reason.empty()) return reject_misuse(reason);
  if (!has_scales(operation, operation.problem)) return reject_misuse("scales other than 1 and 0");
  return CudnnStatus::Success;
}

CudnnStatus finalize_graph(Descriptor& graph) {
  if (!is_alive(graph.one<CudnnHandle>(A::GraphHandle))) return reject_misuse("a dead handle");
  const auto held = graph.list<DescriptorHandle>(A::GraphOperations);
  const Descriptor& first = *descriptor(held[0]);
  if (!is_part_of_attention(first.type)) {
    if (held.size() != 1) return reject_misuse("a convolution among other operations");
    graph.problem = first.problem;
    return CudnnStatus::Success;
  }
  auto operations = std::make_shared<std::vector<Operation>>();
  for (const DescriptorHandle one : held) {
    if (!is_part_of_attention(descriptor(one)->type)) {
      return reject_misuse("a convolution among other operations");
    }
    operations->push_back(operation_of(*descriptor(one)));
  }
  graph.operations = std::move(operations);
  return CudnnStatus::Success;
}

bool supports(const Descriptor& config) {
  if (config.operations == nullptr) return supports(config.engine, config.problem);
  if (config.engine == kGeneral) return true;
  return config.engine == kAligned && !is_unaligned(*config.operations);
}

CudnnStatus finalize_plan(Descriptor& plan) {
  const Descriptor& config = plan.at(A::PlanConfig);
  if (!is_alive(plan.one<CudnnHandle>(A::PlanHandle))) return reject_misuse("a dead handle");
  if (state().rejects_plans || !supports(config)) {
    return reject("the engine does not support it", CudnnStatus::NotSupported);
  }
  plan.problem = config.problem;
  plan.operations = config.operations;
  plan.engine = config.engine;
  plan.workspace = plan.operations == nullptr ? workspace_bytes(plan.engine, plan.problem)
                                              : workspace_bytes(*plan.operations);
  return CudnnStatus::Success;
}

}  // namespace

CudnnStatus reject_misuse(const std::string& reason) {
  std::fprintf(stderr, "fake cuDNN: %s\n", reason.c_str());
  return reject(reason);
}

bool is_operation(DescriptorType type) {
  return is_part_of_attention(type) || type == DescriptorType::Forward ||
         type == DescriptorType::BackwardData || type == DescriptorType::BackwardFilter;
}

CudnnStatus finalize(Descriptor& one) {
  if (one.is_finalized) return reject_misuse("a descriptor is finalized twice");
  if (!is_complete(one)) return reject_misuse("an attribute is missing");
  if (is_operation(one.type)) return finalize_operation(one);
  if (one.type == DescriptorType::Plan) return finalize_plan(one);
  if (one.type == DescriptorType::Graph) return finalize_graph(one);
  if (one.type == DescriptorType::Heuristic) {
    one.problem = one.at(A::HeuristicGraph).problem;
    one.operations = one.at(A::HeuristicGraph).operations;
  }
  if (one.type == DescriptorType::EngineConfig || one.type == DescriptorType::Engine) {
    return reject_misuse("engines are those of heuristics");
  }
  return CudnnStatus::Success;
}

}  // namespace kiln::fake_cudnn
