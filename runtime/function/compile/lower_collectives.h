// The collectives of a program: numbered, then replaced by calls of the host, which every backend
// runs. Their order follows from the graph alone, as schedules and machines of ranks may differ.
#pragma once

#include "core/ir/dim_evaluator.h"
#include "core/ir/graph.h"
#include "runtime/distributed/collective_runner.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace kiln::runtime {

/// The host function that runs a collective. Its payload is the number of the collective.
inline constexpr const char* kCollectiveFunction = "collective";

struct ProgramCollective {
  ir::CollectiveAttrs attrs;
  ir::Type type;  // of the operand
  std::vector<ir::DimEvaluator> sizes = {};  // of its axes, over the symbols of the inputs
  std::string place = {};  // " (train.cpp:12)", of its first origin

  /// For errors: "all_reduce max float32[3] (train.cpp:12)". `dims`: of the operand.
  std::string text(std::span<const std::int64_t> dims) const;
  /// REQUIRES: `dims` are positive or 0.
  distributed::Collective sized(std::span<const std::int64_t> dims) const;
};

struct ProgramCollectives {
  std::vector<ProgramCollective> list;  // in the order in which they run
  /// The group of each in the list, and the one that agrees on a call: that of all collectives, or
  /// of all ranks if the collectives have several.
  std::vector<std::shared_ptr<distributed::Group>> groups = {};
  std::shared_ptr<distributed::Group> agreeing = nullptr;
  bool empty() const { return list.empty(); }
};

/// Replaces collectives of more than one rank.
/// Before:  %1 = collective all_reduce %0; %3 = collective all_reduce %2
/// After:   %1, t1 = host_call "collective" 0 at 0, %0; %3, t3 = host_call "collective" 1 at t1, %2
/// Their numbers ascend with the number of nodes that they depend on. Throws NotImplementedError
/// for one in a loop or a branch, and for a size that depends on values; ValueError for another
/// number of ranks than that of the process's group.
ir::Graph lower_collectives(const ir::Graph& graph, std::span<const ir::Symbol> symbols,
                            ProgramCollectives& collectives);

}  // namespace kiln::runtime
