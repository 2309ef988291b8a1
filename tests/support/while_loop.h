// Makes an Op::While of tensors: K has no function for it, imported models do.
#pragma once

#include "core/k/base/tensor_impl.h"
#include "core/ops/build.h"
#include "core/ops/lambda_builder.h"

#include <cstdint>
#include <utility>

namespace kiln::testing {

/// The last h of `h = step(t, h).second` for t = 0, 1, .. below `length`, as long as the condition
/// holds: `begins`, a bool scalar, at first, then step(t, h).first.
template <class StepOfLoop>
Tensor while_loop(const Tensor& begins, const Tensor& h, const StepOfLoop& step,
                  const ir::Dim& length = INT64_MAX) {
  const std::vector<ir::Value> start{value_of(begins, "begins"), value_of(h, "h")};
  const ir::LambdaBuilder builder({{DType::Int64, {}}, start[0].type(), start[1].type()});
  ir::Trace trace;
  std::vector<ir::Value> results;
  {
    const ir::Trace::Scope tracing(trace);
    const ir::PositionScope position(builder.parameters()[0]);
    const std::pair<Tensor, Tensor> next =
        step(wrap(builder.parameters()[0]), wrap(builder.parameters()[2]));
    results = {value_of(next.first, "goes_on"), value_of(next.second, "next")};
  }
  const ir::NodeRef loop = ir::make_while({builder, results, trace}, start, length);
  return wrap(loop->result(1));
}

}  // namespace kiln::testing
