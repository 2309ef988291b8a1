// Builds closed lambdas (closure conversion): a body is built as ordinary values on fresh
// parameters, then closed; values from outside become further parameters, its captures. Used by K
// functions that trace a step function, by gradients of bodies, and by passes.
//
//   built:   %h = add %t0 (mul %w %w)          %t0 a parameter of the builder, %w from outside
//   closed:  { parameters %0, %1 ; results add %0 %1 }, captures [mul %w %w]
#pragma once

#include "core/ir/lambda.h"
#include "core/ops/make.h"

#include <functional>
#include <unordered_map>

namespace kiln::ir {

/// Decides which values that do not depend on the parameters of a lambda are computed inside; the
/// others are computed outside, once, and captured.
struct CapturePolicy {
  /// Whether the node was created for the body. Pinned nodes (pinned.h) for which this is true stay
  /// inside, and so do their users. Empty: false for all.
  std::function<bool(const Node&)> is_created_inside = {};
  /// Values known to be computed outside: close() does not look at what they depend on, so that it
  /// costs what the body costs. Empty: it visits the whole surrounding graph.
  std::function<bool(const Value&)> is_outside = {};
  /// Whether the body runs at least once whenever its op runs (a loop of length >= 1), so that
  /// nodes that may fail can be hoisted. Nodes that read state never are.
  bool always_runs = false;
  /// Further guards of the lambda, checked before those of its nodes.
  std::vector<Guard> guards = {};
  /// Whether the guards of the nodes become guards of the lambda. False in passes: the guards of
  /// the replaced nodes cover the new ones.
  bool collects_guards = true;
};

/// The policy of a loop of `length` steps whose body was recorded by `trace`. REQUIRES: `trace`
/// outlives the policy.
CapturePolicy capture_policy(const Trace& trace, const Dim& length);

/// A closed lambda and the values that it captures: a closure.
struct Closure {
  std::shared_ptr<const Lambda> lambda;
  /// Values of the surrounding graph in order of first use. Each is the argument of one of the
  /// parameters that close() inserted at `capture_position`.
  std::vector<Value> captures;
};

/// A fresh set of parameters, on which a body is built and which it is closed over.
class LambdaBuilder {
 public:
  explicit LambdaBuilder(std::vector<Type> parameter_types);
  const std::vector<Value>& parameters() const { return parameters_; }

  /// Closes over `results`. A value that does not depend on the parameters is computed outside and
  /// captured unless `policy` keeps it inside. Constants, DimSizes and broadcasts that cannot fail
  /// are repeated inside.
  Closure close(const std::vector<Value>& results, std::size_t capture_position,
                const CapturePolicy& policy = {}) const;
  /// Closes over `results` without captures, for lambdas derived from closed ones. `guards` precede
  /// those of the nodes. REQUIRES: the results depend on constants and the parameters only.
  std::shared_ptr<const Lambda> close_without_captures(const std::vector<Value>& results,
                                                       const std::vector<Guard>& guards) const;

 private:
  std::int64_t scope_;
  std::vector<Value> parameters_;
};

/// The capture_position of a Scan's body: after the step number.
inline constexpr std::size_t kAfterStepNumber = 1;

/// Makes a Scan of a body closed at kAfterStepNumber. Operands: captures, initial carries, xs.
/// Results: the last carries, then the stacked ys.
NodeRef make_scan(const Closure& body, const std::vector<Value>& carry,
                  const std::vector<Value>& xs, const Dim& length, bool reverse);

/// A body as a K function traced it, not closed yet.
struct TracedBody {
  const LambdaBuilder& builder;  // parameters: step number, carries, slices of xs
  const std::vector<Value>& results;  // next carries, then outputs
  const Trace& trace;  // of the nodes created for the body
};
/// Closes the body over what it captures, and makes the Scan.
NodeRef make_scan(const TracedBody& body, const std::vector<Value>& carry,
                  const std::vector<Value>& xs, const Dim& length, bool reverse);

/// Closes the body of a loop that ends early, and makes the While. Parameters of the body: step
/// number, carries; results: next carries. The first carry, a bool scalar, says whether a step
/// begins; at most `length` do. Results: the last carries.
NodeRef make_while(const TracedBody& body, const std::vector<Value>& carry, const Dim& length);

/// Two branches closed over the same parameters: the captures of both, in order of first use.
struct BranchClosures {
  std::shared_ptr<const Lambda> then_branch, else_branch;
  std::vector<Value> captures;
};
/// Closes the branches of a Cond. Nodes that a branch's trace recorded are computed inside, since
/// the branch may not run. All other values are captured, and so are arguments, variables and host
/// calls that determine dims.
BranchClosures close_branches(const std::vector<Value>& then_results, const Trace& then_trace,
                              const std::vector<Value>& else_results, const Trace& else_trace);

/// A predicate: whether `values` depend on a node, or are its results. Its first call visits the
/// graph.
std::function<bool(const Node&)> reached_from(std::vector<Value> values);
/// A predicate: whether a value is one of `values`.
std::function<bool(const Value&)> one_of(std::span<const Value> values);

/// Inlines a lambda: its results with the parameters replaced by `arguments`. The caller must take
/// care of its guards.
std::vector<Value> inline_lambda(const Lambda& lambda, std::span<const Value> arguments);

/// Substitutes values: `roots` rebuilt on the replacements. Nodes that depend on none of them stay
/// the same pointers. Does not enter lambdas, which are closed.
using Replacements = std::unordered_map<Value, Value, ValueHash>;
std::vector<Value> replace_values(std::span<const Value> roots, const Replacements& replacements);
Graph replace_values(const Graph& graph, const Replacements& replacements);
/// The same, also in what the replacements depend on: all levels of a graph in one walk. A value
/// that is replaced by itself ends the walk. REQUIRES: no replacement depends on the value that it
/// replaces.
std::vector<Value> replace_throughout(std::span<const Value> roots,
                                      const Replacements& replacements);

/// The operand of random draws and host calls that tells loop steps apart: an int64 scalar,
/// constant 0 outside of bodies. A PositionScope mixes the step number of a body into the outer
/// position, for nodes made on this thread.
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
