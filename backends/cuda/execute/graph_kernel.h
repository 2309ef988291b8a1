// A kernel of the backend's own, lowered from a graph by the passes that lower all programs.
#pragma once

#include "backends/cuda/api/open_compiler.h"
#include "backends/cuda/execute/launch_kernel.h"

#include <span>
#include <string>
#include <vector>

namespace kiln::cuda {

/// The device and the compiler of an instance.
struct KernelCompiler {
  std::shared_ptr<const Device> device;
  std::shared_ptr<const api::Compiler> compiler;
  sdk::Host host;  // receives dumps of the kernels
};

/// Immutable: for any thread.
class GraphKernel {
 public:
  /// Compiles a graph of placeholders to one result. Throws sdk::Failure, and InternalError for one
  /// that is not lowered to one kernel. REQUIRES: a ScopedContext of the thread, which captures no
  /// stream.
  GraphKernel(const KernelCompiler& compiler, std::vector<ir::Value> arguments, ir::Value result,
              const std::string& label);

  /// `evaluate`: gives the arguments' sizes. The object outlives the result.
  BoundKernel bind(const codegen::EvaluateDim& evaluate) const;
  /// The addresses of arguments and result, in the order in which the kernel takes them.
  std::vector<api::DeviceAddress> operands(std::span<const api::DeviceAddress> arguments,
                                           api::DeviceAddress result) const;

 private:
  codegen::GridDescription grid_;
  codegen::BuiltKernel built_;
  std::vector<std::size_t> order_;  // for each operand: the argument, or their number: the result
  std::unique_ptr<const KernelLibrary> library_;  // of one kernel
};

/// A placeholder for an argument.
ir::Value kernel_argument(const std::string& name, const ir::Type& type);

}  // namespace kiln::cuda
