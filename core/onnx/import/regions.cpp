// Makes a Scan over the regions. Its body gathers the image of one region.
#include "core/onnx/import/regions.h"

#include "core/ops/lambda_builder.h"

namespace kiln::onnx {

using ir::Value;

void require_regions(const NodeContext& node, const Value& x, const Value& rois,
                     std::int64_t columns) {
  if (x.rank() == 4 && rois.rank() == 2 && equal(rois.dims()[1], columns) != ir::Ternary::No) {
    return;
  }
  node.fail(text("x is no batch of images, or rois do not have ", columns, " columns (x ", x.type(),
                 ", rois ", rois.type(), ")"));
}

Value region_column(const Value& rois, std::int64_t i) {
  return ir::reshape(ir::slice_axis(rois, 1, i, i + 1), {rois.dims()[0]});
}

Value over_regions(const Value& x, const Value& batch, const Value& rows, const Value& columns,
                   const RegionPool& pool) {
  const auto slice_type = [](const Value& value) -> ir::Type {
    return {value.dtype(), {value.dims().begin() + 1, value.dims().end()}};
  };
  const ir::LambdaBuilder builder(
      {{DType::Int64, {}}, slice_type(batch), slice_type(rows), slice_type(columns)});
  const auto& parameters = builder.parameters();
  ir::Trace trace;
  const std::vector<Value> results = [&]() -> std::vector<Value> {
    const ir::Trace::Scope tracing(trace);
    const Value image = ir::gather(x, parameters[1], 0);
    return {pool(image, parameters[2], parameters[3])};
  }();
  const ir::TracedBody traced{.builder = builder, .results = results, .trace = trace};
  const ir::NodeRef scan =
      ir::make_scan(traced, {}, {batch, rows, columns}, batch.dims()[0], /*reverse=*/false);
  return {scan, 0};
}

}  // namespace kiln::onnx
