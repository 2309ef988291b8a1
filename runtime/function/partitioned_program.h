// A function with data-dependent shapes, that is, sizes known only when a host function has run,
// such as the width of ctc_decode's result. Its graph is partitioned at these host calls: a program
// for their operands, the host functions, a program with their results as further inputs, and so
// on. A value that later partitions need as well is computed once, as a live-out. All partitions of
// a call read variables from one VariableSnapshot.
#pragma once

#include "runtime/dump/dump.h"
#include "runtime/function/call.h"
#include "runtime/function/callable_program.h"
#include "runtime/host/host_functions.h"

namespace kiln::runtime {

/// A call of a host function between two partitions.
struct HostStep {
  DataDependentFunction function = nullptr;
  std::string payload;
  std::size_t operands = 0;  // how many outputs of the partition it consumes
  std::size_t results = 0;
  ir::Origin origin;  // of the HostCall node, for errors
};

/// One partition but the last. Its program's inputs are those at the indices `inputs` of the
/// user's, then the live-outs and host results of the partitions before it. Its outputs are
/// `live_out_count` live-outs, then the operands of each step in order.
struct ProgramPartition {
  std::shared_ptr<const CallableProgram> program;
  std::vector<std::size_t> inputs;
  std::size_t live_out_count = 0;
  std::vector<HostStep> steps;
};

struct PartitionedProgram {
  std::vector<ProgramPartition> partitions;  // before the last; empty for nearly all functions
  std::shared_ptr<const CallableProgram> last;  // computes the outputs and the updates
  std::vector<std::size_t> last_inputs = {};  // as ProgramPartition::inputs
  bool has_shards = false;  // all partitions draw with one number of the call
  std::vector<VariableStorage*> variables;  // of all partitions; empty if there is only `last`
  /// The input that is the learning phase of a program with collectives; none of others.
  std::optional<std::size_t> phase_input = {};

  /// Returns the program whose first inputs are the user's feeds.
  const CompiledProgram& first() const {
    return (partitions.empty() ? last : partitions.front().program)->program;
  }
};

/// Settings of all partitions of a program.
struct PartitionOptions {
  bool optimize = true;  // as CompiledProgram::optimize
  bool check_numerics = false;  // compile/numeric_checks.h
  std::optional<RandomState> random = {};  // as CallableProgram::random
  std::vector<bool> sparse = {};  // as CompiledProgram::sparse
  std::uint64_t seed = 0;  // as CompiledProgram::seed
  std::vector<ir::Guard> guards = {};  // of the first partition, as CompiledProgram::given_guards
  distributed::UpdateExpressions updates = {};  // as ProgramCollectives, here and below
  std::uint64_t phase = 0;
  std::string made_at = {};  // as ProgramCollectives::made_at
};

/// Partitions the graph and compiles each partition (compile_callable). Partitions but the last are
/// dumped to partition_directory(). Throws ValueError for a data-dependent shape inside a loop or a
/// branch, and as compile_callable.
PartitionedProgram compile_partitioned(const ir::Graph& graph, const std::string& name,
                                       const InstancePtr& instance,
                                       const std::optional<WantedDumps>& dumps,
                                       const PartitionOptions& options);

/// Returns the folder that partition i, not the last, is dumped to: "directory/partition-1" for 0.
std::string partition_directory(const std::string& directory, std::size_t i);

/// As call_into and call of call.h, through all partitions with one VariableSnapshot.
void call_into(const PartitionedProgram& programs, std::span<const ArrayView> inputs,
               std::span<const MutableArrayView> outputs);
std::vector<Array> call(const PartitionedProgram& programs, std::span<const ArrayView> inputs);
/// As above, through views. REQUIRES: `inputs` have the dtypes of the first program's inputs, none
/// of which is bool.
std::vector<Array> call_with_views(const PartitionedProgram& programs,
                                   std::span<const Array> inputs);
/// As above, without views if there are no partitions. REQUIRES: as above.
inline std::vector<Array> call(const PartitionedProgram& programs, std::span<const Array> inputs) {
  if (programs.partitions.empty()) return call(*programs.last, inputs);
  return call_with_views(programs, inputs);
}

}  // namespace kiln::runtime
