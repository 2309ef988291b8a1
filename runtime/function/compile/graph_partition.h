// Partitions a graph at host calls whose result shapes are data-dependent (partitioned_program.h).
#pragma once

#include "core/ir/graph.h"

#include <optional>
#include <vector>

namespace kiln::runtime {

struct GraphPartition {
  std::vector<std::size_t> inputs = {};  // of those of the original, which `graph` takes
  ir::Graph graph;  // outputs: live_out_count live-outs, then each call's operands but the position
  std::size_t live_out_count = 0;
  std::vector<ir::NodeRef> calls;  // HostCall nodes to run after `graph`
  ir::Graph rest;  // inputs: those of the original, the live-outs, the calls' results
};

/// Splits off the partition that ends at the HostCall nodes with data-dependent result shapes that
/// depend on no other such call. Returns nothing if the graph has none. Live-outs are values that
/// the partition computes and `rest` uses; constants and variables are read again instead. A part
/// of shards (runtime/host/shard_functions.h) has none, and takes only the inputs that it uses, but
/// the first partition all: then the parts have equal graphs, and the bits of one do not depend on
/// the others.
/// Before:  %0 = exp x; %1 = host_call "ctc_greedy" %0; outputs {%1, %0 * 2}
/// After:   graph: %0 = exp x; outputs {%0, %0};  calls {host_call "ctc_greedy"}
///          rest:  inputs x, p0, p1; outputs {p1, p0 * 2}
/// Throws ValueError for such a call inside a loop or a branch.
std::optional<GraphPartition> first_partition(const ir::Graph& graph, bool is_first = true);

/// Whether the graph computes shards.
bool has_shards(const ir::Graph& graph);
/// Throws NotImplementedError for a data-dependent shape. Values of sizes alone are the same nodes
/// in parts and in the whole: as a live-out, one would have the size of the whole in a part.
void require_no_other_partitions(const ir::Graph& graph);
/// ValueError for a shard that no function of Kiln makes, of a module file, and
/// NotImplementedError for parts of different sizes: all have the symbols of the whole.
void require_valid_shards(const ir::Graph& graph);
/// The indices of the inputs that the graph uses: whose values it reads, or else whose sizes, of
/// the last with a size if the graph is a part of shards, and of the first if not.
std::vector<std::size_t> used_inputs(const ir::Graph& graph, bool of_part);

/// Returns the HostCall nodes that define symbols in dims of the graph's values, for Graph::sizes:
/// such a call need not be an operand of any value. Throws ValueError for one inside a loop or a
/// branch.
std::vector<ir::Value> data_dependent_calls(const ir::Graph& graph);

}  // namespace kiln::runtime
