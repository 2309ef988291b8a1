// ScanParts: a Scan unpacked for a pass. The body is inlined: consts are replaced by the outer
// values, so that a loop invariant is a value that depends on no parameter; carries, slices of xs
// and the step number are fresh parameters. pack_scan() captures the invariants, which by itself
// hoists them out of the loop; pinned nodes (core/ops/pinned.h) stay inside unless the loop has a
// step in every call.
//
//   Scan:   %s = scan %w, %c0, %x body={ %t, %w', %c, %xt: results add %c (mul %w' %xt) }
//   Parts:  initial {%c0}, carry {%c}, xs {%x}, slices {%xt}, next {add %c (mul %w %xt)}
#pragma once

#include "core/ir/traverse.h"
#include "core/ops/lambda_builder.h"

#include <optional>
#include <unordered_set>

namespace kiln::passes {

struct ScanParts {
  std::vector<ir::Value> consts;   // captured outer values: the body ends there
  ir::Value step;                  // the step number: a parameter
  std::vector<ir::Value> initial;  // initial carries: outer values
  std::vector<ir::Value> carry;    // carries: parameters
  std::vector<ir::Value> next;     // next carries: results of the body
  std::vector<ir::Value> xs;       // stacked inputs: outer values
  std::vector<ir::Value> slices;   // slices of xs: parameters
  std::vector<ir::Value> ys;       // outputs: results of the body
  ir::Dim length;
  bool reverse = false;
  std::vector<ir::Guard> guards;  // of the body
  /// Whether an operand of the loop depends on the node, which is then computed outside anyway.
  std::function<bool(const ir::Node&)> is_outer;

  /// Whether the loop has at least one step in every call.
  bool always_runs() const { return ir::has_step(length); }
  /// All parameters: carries, slices, step number.
  std::vector<ir::Value> parameters() const;
  /// All results of the body: next, then ys.
  std::vector<ir::Value> results() const;
  void set_results(const std::vector<ir::Value>& results);
  /// The nodes of the body that `roots` depend on, operands before users, without values for which
  /// `stop` is true. Not beyond `consts`, so that a loop costs what its body costs.
  std::vector<const ir::Node*> order(std::span<const ir::Value> roots,
                                     const ir::StopAt& stop = {}) const;
  /// ir::replace_values(), but not beyond `consts`.
  std::vector<ir::Value> replaced(std::span<const ir::Value> roots, ir::Replacements map) const;
  /// ir::replace_throughout(), but not beyond `consts`.
  std::vector<ir::Value> replaced_throughout(std::span<const ir::Value> roots,
                                             ir::Replacements map) const;
  /// Adds a stacked input and returns its slice parameter; returns that of an equal one if there is
  /// one.
  ir::Value add_input(const ir::Value& stacked);
};

/// A new parameter.
ir::Value fresh_parameter(const ir::Type& type);
/// The type of a slice of a stacked value, and of the stack of a value.
ir::Type slice_type(const ir::Type& stacked);
ir::Type stacked_type(const ir::Type& slice, const ir::Dim& length);

/// Unpacks a Scan. REQUIRES: the node is one.
ScanParts unpack_scan(const ir::Node& scan);
/// Packs the parts into a Scan. Results: the last carries, then the stacked ys.
ir::NodeRef pack_scan(const ScanParts& parts);

/// Whether values depend on some of the parameters, for all values that the parts' results depend
/// on.
class StepDependence {
 public:
  StepDependence(const ScanParts& parts, const std::vector<ir::Value>& parameters);
  bool operator()(const ir::Value& value) const;

 private:
  std::unordered_map<const ir::Node*, bool> depends_;
};

/// Nodes that must not be computed outside of a loop that may have no steps. Step-dependent gathers
/// may: batched over zero steps they read nothing.
class PinnedNodes {
 public:
  /// Analyses the nodes that the parts' results depend on.
  explicit PinnedNodes(const ScanParts& parts);
  bool operator()(const ir::Value& value) const { return pinned_.count(value.node.get()) != 0; }

 private:
  std::unordered_set<const ir::Node*> pinned_;
};

/// Applies `change` to every Scan of the graph, inner ones first. `change` gets the node with
/// rewritten operands and returns a value per result of the node, or nullopt to leave it.
using ScanChange = std::function<std::optional<std::vector<ir::Value>>(const ir::Node& scan)>;
ir::Graph change_scans(const ir::Graph& graph, const ScanChange& change);

}  // namespace kiln::passes
