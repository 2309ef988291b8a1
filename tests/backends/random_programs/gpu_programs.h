// Lowers programs for the description of a GPU, on a machine without one.
#pragma once

#include "backends/codegen/pipeline.h"
#include "tests/backends/random_programs/program.h"

#include "core/ir/graph.h"

#include <optional>
#include <string>
#include <vector>

namespace kiln::testing {

inline constexpr codegen::TargetDescription kCpu{};
/// 132 multiprocessors with 2,048 threads each.
inline constexpr codegen::TargetDescription kGpu{
    .compute_units = 132, .lanes = 2048, .divides_reductions = true, .loop_bytes = 48 << 10};

/// The program of a graph, for a target whose library takes every matmul and convolution. The
/// pipeline verifies kernels and plans; this function also checks the grid schedule and the text
/// form of each kernel.
codegen::Program program_of(const ir::Graph& graph, const codegen::TargetDescription& target);

/// The program lowered for a GPU; none where it has data-dependent shapes, which the runtime
/// partitions before it lowers.
std::optional<codegen::Program> gpu_program_of(const Program& program);

/// The modules that a program of tools/examples compiles, which are the same for every backend: it
/// runs on the fastest one. The file small.csv has a few digits.
std::vector<ir::Graph> graphs_of(const std::string& command);

/// A placeholder of these sizes.
Tensor fed(const std::vector<std::int64_t>& dims);

/// Outputs and the gradients of `loss`.
Program trained(std::vector<Tensor> inputs, std::vector<Tensor> outputs, const Tensor& loss);

}  // namespace kiln::testing
