// Closes bodies over their carries: one Scan each.
#include "core/onnx/import/step_body.h"

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Ternary;
using ir::Value;
using Values = std::vector<Value>;

std::vector<ir::Type> body_types(const Values& carries, const Values& sequences) {
  std::vector<ir::Type> types{{DType::Int64, {}}};
  for (const Value& carry : carries) types.push_back(carry.type());
  for (const Value& sequence : sequences) {
    ir::Type type = sequence.type();
    type.dims.erase(type.dims.begin());
    types.push_back(std::move(type));
  }
  return types;
}

bool fits_carry(const Value& result, const Value& carry) {
  return result.dtype() == carry.dtype() && equal(result.dims(), carry.dims()) != Ternary::No;
}

}  // namespace

StepBody::StepBody(const Values& carries, const Values& sequences)
    : builder(body_types(carries, sequences)) {}

Values StepBody::arguments() const {
  return {builder.parameters().begin() + 1, builder.parameters().end()};
}

void fit_carries(NodeContext& node, StepBody& body, const Values& carries) {
  const ir::Trace::Scope tracing(body.trace);
  for (std::size_t i = 0; i < carries.size(); ++i) {
    Value& next = body.results[i];
    if (!fits_carry(next, carries[i])) {
      node.fail(text("the body turns carried value ", i, " from ", carries[i].type(), " into ",
                     next.type(), "; in a loop of unknown length its type must stay the same"));
    }
    next = ir::with_dims(next, carries[i].dims());
  }
}

Values scan_of(const StepBody& body, const Values& carries, const Values& sequences,
               const Dim& length) {
  const ir::TracedBody traced{
      .builder = body.builder, .results = body.results, .trace = body.trace};
  const ir::NodeRef scan = ir::make_scan(traced, carries, sequences, length, /*reverse=*/false);
  Values results;
  for (std::uint32_t i = 0; i < scan->types.size(); ++i) results.push_back({scan, i});
  return results;
}

}  // namespace kiln::onnx
