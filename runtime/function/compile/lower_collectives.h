// The collectives of a program: numbered, merged into buckets, and replaced by calls of the host,
// which every backend runs. Their order follows from the graph alone, as schedules and machines of
// ranks may differ.
#pragma once

#include "core/ir/dim_evaluator.h"
#include "core/ir/graph.h"
#include "runtime/distributed/collective_runner.h"
#include "runtime/distributed/operation.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kiln::runtime {

/// A collective of the graph.
struct CollectiveMember {
  ir::Type type;  // of the operand
  std::vector<ir::DimEvaluator> sizes = {};  // of its axes, over the symbols of the inputs
  std::string place = {};  // "train.cpp:12", of its first origin; empty if not known
  std::size_t number = 0;  // among the collectives of the graph as written
};

/// A collective as it runs. Its members' elements follow each other: several only of an AllReduce.
struct ProgramCollective {
  ir::CollectiveAttrs attrs;
  std::vector<CollectiveMember> members;
  std::shared_ptr<distributed::CollectiveRunner> runner = {};

  std::string kind_text() const;  // "all_reduce max", "broadcast of rank 1"
};

/// All collectives of a program in their order.
struct ProgramCollectives {
  std::vector<ProgramCollective> list;
  /// The group that agrees on a call: that of all collectives, or of all ranks if the collectives
  /// have several.
  std::shared_ptr<distributed::Group> group = {};
  /// The backend, the machine that the code computes for, and options that change its bits, "cpu
  /// avx512 and oneDNN 2.6.3 of ISA 39 without simplify": equal on all ranks.
  std::string target = {};
  bool run_by_backend = false;  // else by the host's functions
  distributed::UpdateExpressions updates = {};  // of the function, equal on all ranks
  std::uint64_t phase = 0;  // the one set when K::function was called, unless it is fed
  std::string made_at = {};  // the line that made a function without a name, "train.cpp:12"
  bool empty() const { return list.empty(); }
};

/// The bytes of a tensor of static sizes; none for others.
std::optional<std::size_t> static_bytes(const ir::Type& type);

/// The most bytes that AllReduces are merged up to: KILN_DISTRIBUTED_BUCKET, else 4 MiB.
/// ConfigError for a value that is not a number.
std::size_t bucket_bytes();

/// The collectives of several ranks outside of loops and branches, in the order in which they run:
/// that of their ids, each after those that it depends on. It does not depend on constants, which
/// may differ between ranks.
std::vector<const ir::Node*> collectives_in_order(const ir::Graph& graph);

/// The ids of those collectives.
std::vector<std::int64_t> collective_ids(const ir::Graph& graph);

/// Replaces collectives of more than one rank, in a graph that is not differentiated again.
/// Before:  %1 = collective all_reduce %0; %3 = collective all_reduce %2; uses of %1, %3
/// After:   t0 = host_call "collective_start" 0 at 0, %0; t1 = .. "collective_start" 1 at t0, %2
///          %1 = host_call "collective_wait" 0 at t1;     %3 = host_call "collective_wait" 1 at t1
/// The payload has the attributes, too (core/ops/collective_payload.h).
/// A wait is at the last start that does not depend on it, so that all work which other collectives
/// need is done while it is under way. AllReduces with equal attributes, dtypes and static sizes
/// that follow each other, and do not depend on each other, are merged up to `bucket` bytes. Throws
/// NotImplementedError for one in a loop or a branch, and for a size that depends on values;
/// ValueError for a group that the process has not split, and for another number of ranks than that
/// of the group. `written`: collective_ids() of the graph before the passes, which may have dropped
/// some.
ir::Graph lower_collectives(const ir::Graph& graph, std::span<const std::int64_t> written,
                            std::span<const ir::Symbol> symbols, std::size_t bucket,
                            ProgramCollectives& collectives);

}  // namespace kiln::runtime
