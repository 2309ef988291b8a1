// Bodies of Loop and Scan, traced on parameters, and the Scans that run them.
#pragma once

#include "core/onnx/import/node_context.h"
#include "core/ops/lambda_builder.h"

#include <vector>

namespace kiln::onnx {

/// A body on the parameters of a builder: the step number, carries, slices of sequences.
struct StepBody {
  StepBody(const std::vector<ir::Value>& carries, const std::vector<ir::Value>& sequences);
  const ir::Value& step() const { return builder.parameters()[0]; }
  /// The parameters after the step number.
  std::vector<ir::Value> arguments() const;
  /// Calls work(), which makes the results, and records its nodes.
  template <class Work>
  void trace_results(const Work& work) {
    const ir::Trace::Scope tracing(trace);
    const ir::PositionScope position(step());
    results = work();
  }

  ir::LambdaBuilder builder;
  ir::Trace trace;
  std::vector<ir::Value> results;
};

/// Requires the next carries, which are the first results of the body, to have the types of the
/// carries. Throws ValueError if they never do.
void fit_carries(NodeContext& node, StepBody& body, const std::vector<ir::Value>& carries);

/// The results of a Scan of `length` steps: the last carries, then the stacked outputs.
std::vector<ir::Value> scan_of(const StepBody& body, const std::vector<ir::Value>& carries,
                               const std::vector<ir::Value>& sequences, const ir::Dim& length);

}  // namespace kiln::onnx
