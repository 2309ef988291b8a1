// The program behind the public Function, and the creation of a Function from a graph.
#pragma once

#include "runtime/function/partitioned_program.h"

#include <string>
#include <vector>

namespace kiln {

class Function;
struct FunctionOptions;

namespace runtime {

struct FunctionProgram {
  PartitionedProgram programs;
  std::string backend;
  std::vector<bool> sparse;  // per input of the user; a sparse one is three inputs of the program
  std::vector<std::string> output_names;  // empty for outputs without one
  bool has_sparse = false;  // whether any of them is
  bool prints = false;  // whether calls may run a print sink, which is user code
};

/// The parts of a function besides its options.
struct FunctionParts {
  ir::Graph graph;
  std::vector<bool> sparse = {};  // as in FunctionProgram, here and below
  std::vector<std::string> output_names = {};
  std::vector<ir::Guard> guards = {};  // as CompiledProgram::given_guards
};

/// Compiles a checked graph. Ignores the options that only build_graph() reads. REQUIRES: the
/// scope of the K function that the user called. Throws as `function` of kiln/function.h.
Function compile_function(FunctionParts parts, const FunctionOptions& options, Where where);

}  // namespace runtime
}  // namespace kiln
