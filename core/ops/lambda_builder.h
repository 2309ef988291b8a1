// Builds a closed Lambda out of values that were made with fresh parameters: used by the K
// functions that trace a step function, by gradients of bodies, and by passes.
#pragma once

#include "core/ir/lambda.h"
#include "core/ops/make.h"

#include <functional>
#include <unordered_map>

namespace kiln::ir {

/// Which values that do not depend on its parameters a lambda computes itself; it captures the
/// others.
struct CapturePolicy {
  /// Whether the body created the node. A pinned node (pinned.h) that it created, and the users of
  /// it that it created, stay in the body. Empty: none was.
  std::function<bool(const Node&)> is_written_inside = {};
  /// The body runs at least once whenever its op runs (a loop of length >= 1), so nodes that may
  /// fail can be hoisted. Nodes that read state never are.
  bool always_runs = false;
  /// Further guards of the lambda, checked before those of its nodes.
  std::vector<Guard> guards = {};
  /// Whether the nodes' guards become the lambda's. False in passes: rewritten nodes are covered by
  /// the guards of the nodes that they replace.
  bool collects_guards = true;
};

/// The closing of a loop of `length` steps whose body `trace` recorded. REQUIRES: `trace` lives as
/// long.
CapturePolicy written_in(const Trace& trace, const Dim& length);

/// A fresh set of parameters: no other builder's values depend on them.
class LambdaBuilder {
 public:
  explicit LambdaBuilder(std::vector<Type> parameter_types);
  const std::vector<Value>& parameters() const { return parameters_; }

  struct Closed {
    std::shared_ptr<const Lambda> lambda;
    /// Values of the surrounding graph that the results depend on, in order of first use: each
    /// is one more parameter, inserted at `capture_position`.
    std::vector<Value> captures;
  };
  /// Closes over `results`. A value that does not depend on this builder's parameters is computed
  /// outside and captured, except for what `closing` keeps inside, and for constants, DimSize and
  /// broadcasts that cannot fail, which are repeated inside.
  Closed close(const std::vector<Value>& results, std::size_t capture_position,
               const CapturePolicy& closing = {}) const;
  /// Closes over `results` without captures, for lambdas derived from closed ones. `guards` come
  /// before those of the nodes. REQUIRES: the results depend on constants and this builder's
  /// parameters alone.
  std::shared_ptr<const Lambda> close_without_captures(const std::vector<Value>& results,
                                                       const std::vector<Guard>& guards) const;

 private:
  std::int64_t scope_;
  std::vector<Value> parameters_;
};

/// The Scan of a body closed at position 1, after the step number: its operands are the captures,
/// then the initial carry, then xs. Results: the last carry, then ys.
NodeRef make_scan(const LambdaBuilder::Closed& body, const std::vector<Value>& carry,
                  const std::vector<Value>& xs, const Dim& length, bool reverse);

/// Two branches closed over the same parameters, which are the captures in order of first use.
struct ClosedBranches {
  std::shared_ptr<const Lambda> then_branch, else_branch;
  std::vector<Value> captures;
};
/// Nodes recorded in a branch's trace are computed in the branch: it may not run, so that none is
/// hoisted. All other values, arguments, variables and host calls that decide sizes are captured.
ClosedBranches close_branches(const std::vector<Value>& then_results, const Trace& then_trace,
                              const std::vector<Value>& else_results, const Trace& else_trace);

/// Whether a node is among those that `values` depend on, themselves included.
std::function<bool(const Node&)> reached_from(std::span<const Value> values);

/// The results of `lambda` with its parameters replaced by `arguments`. The caller takes over its
/// guards.
std::vector<Value> inline_lambda(const Lambda& lambda, std::span<const Value> arguments);

/// `roots` rebuilt with some values replaced. Nodes that reach none of them stay the same pointer.
/// Does not enter lambdas (they are closed).
using Replacements = std::unordered_map<Value, Value, ValueHash>;
std::vector<Value> replace_values(std::span<const Value> roots, const Replacements& replacements);
Graph replace_values(const Graph& graph, const Replacements& replacements);

/// The step position that random draws and host calls made on this thread take as operand: int64
/// scalar, constant 0 outside of bodies. A scope mixes the step number into the outer position.
Value current_position();
class PositionScope {
 public:
  explicit PositionScope(const Value& step);
  ~PositionScope();
  PositionScope(const PositionScope&) = delete;
  PositionScope& operator=(const PositionScope&) = delete;

 private:
  Value saved_;
};

}  // namespace kiln::ir
