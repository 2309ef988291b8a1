// A Scan taken apart for a pass, and put together again. The body's consts are replaced by the
// outer values themselves, so that "invariant" means "does not depend on a parameter"; carries, xs
// and the step number are fresh parameters. Putting it together captures what is invariant,
// computed outside: that alone hoists invariants. A pinned node (core/ops/pinned.h) of the body
// stays inside unless the loop has a step in every call.
#pragma once

#include "core/ops/lambda_builder.h"

#include <optional>
#include <unordered_set>

namespace kiln::passes {

struct ScanParts {
  ir::Value step;                    // parameter: the step number
  std::vector<ir::Value> initial;    // outer values
  std::vector<ir::Value> carry;      // parameters
  std::vector<ir::Value> next;       // body results
  std::vector<ir::Value> xs;         // outer values, stacked
  std::vector<ir::Value> slices;     // parameters
  std::vector<ir::Value> ys;         // body results
  ir::Dim length;
  bool reverse = false;
  std::vector<ir::Guard> guards;     // of the body
  /// Whether an operand of the loop depends on the node, which is then computed outside anyway.
  std::function<bool(const ir::Node&)> is_outer;

  /// Whether there is at least one step, whatever the sizes of a call.
  bool always_runs() const { return ir::has_step(length); }
  /// What changes from step to step: the carries, the slices and the step number.
  std::vector<ir::Value> parameters() const;
  /// All body results: next, then ys.
  std::vector<ir::Value> results() const;
  void set_results(const std::vector<ir::Value>& results);
  /// A further input: returns its parameter.
  ir::Value add_input(const ir::Value& stacked);
};

/// A parameter that nothing else depends on.
ir::Value fresh_parameter(const ir::Type& type);
/// The type of one step of a stacked value, and the reverse.
ir::Type slice_type(const ir::Type& stacked);
ir::Type stacked_type(const ir::Type& slice, const ir::Dim& length);

ScanParts take_apart(const ir::Node& scan);
/// The Scan of these parts; its results are the last carries, then the stacked ys.
ir::NodeRef put_together(const ScanParts& parts);

/// Whether each value of the body's graph depends on the step: answers for any value reached from
/// the parts' results.
class StepDependence {
 public:
  StepDependence(const ScanParts& parts, const std::vector<ir::Value>& parameters);
  bool operator()(const ir::Value& value) const;

 private:
  std::unordered_map<const ir::Node*, bool> depends_;
};

/// Nodes that must not be computed outside of a loop that may have no steps. Step-dependent nodes
/// with indices that are data may: stacked over zero steps they read nothing.
class PinnedNodes {
 public:
  /// Considers the nodes reached from the parts' results.
  explicit PinnedNodes(const ScanParts& parts);
  bool operator()(const ir::Value& value) const { return pinned_.count(value.node.get()) != 0; }

 private:
  std::unordered_set<const ir::Node*> pinned_;
};

/// Applies `change` to every Scan of the graph, inner ones first, lambdas included. `change` gets
/// the node with its operands rewritten already and returns a value per result of the node, or
/// nothing to leave it.
using ScanChange = std::function<std::optional<std::vector<ir::Value>>(const ir::Node& scan)>;
ir::Graph change_scans(const ir::Graph& graph, const ScanChange& change);

}  // namespace kiln::passes
