// Imports random draws. They come from Kiln's generator (kiln/random.h): another stream than that
// of other runtimes, also for an equal seed.
#include <kiln/random.h>

#include "core/k/base/tensor_impl.h"
#include "core/onnx/file/read.h"
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"

#include <bit>

namespace kiln::onnx {
namespace {

using ir::Value;
using Values = std::vector<Value>;

/// The node's seed by its bits; unset: a new one from the process-wide generator.
std::optional<Seed> draw_seed(NodeContext& node) {
  if (!node.has_attribute("seed")) return std::nullopt;
  return Seed(std::bit_cast<std::uint32_t>(static_cast<float>(node.number("seed", 0))));
}

/// The attribute `dtype`, or else the given one.
DType draw_dtype(NodeContext& node, DType otherwise) {
  if (!node.has_attribute("dtype")) return otherwise;
  const auto dtype = dtype_of(node.integer("dtype"));
  if (!dtype) node.fail(text("dtype ", node.integer("dtype"), " is not supported"));
  return *dtype;
}

/// Sizes, which may be symbolic, as the shape of a K function.
Shape draw_shape_of(const ir::Dims& dims) {
  if (dims.empty()) return Shape(std::vector<ShapeEntry>());
  Values sizes;
  for (const ir::Dim& dim : dims) sizes.push_back(ir::reshape(ir::dim_size(dim), {1}));
  return Shape(wrap(ir::concat(sizes, 0)));
}

Shape draw_shape(NodeContext& node) {
  const auto shape = node.integers("shape");
  if (!shape) node.fail("attribute 'shape' is missing");
  return draw_shape_of({shape->begin(), shape->end()});
}

Values normal_draws(NodeContext& node, const Shape& shape, DType dtype) {
  return {value_of(kiln::random_normal(shape, {.mean = node.number("mean", 0),
                                               .stddev = node.number("scale", 1),
                                               .dtype = dtype,
                                               .seed = draw_seed(node)}),
                   "x")};
}

Values uniform_draws(NodeContext& node, const Shape& shape, DType dtype) {
  return {value_of(kiln::random_uniform(shape, {.minval = node.number("low", 0),
                                                .maxval = node.number("high", 1),
                                                .dtype = dtype,
                                                .seed = draw_seed(node)}),
                   "x")};
}

Values import_random_normal(NodeContext& node) {
  return normal_draws(node, draw_shape(node), draw_dtype(node, DType::Float32));
}
Values import_random_uniform(NodeContext& node) {
  return uniform_draws(node, draw_shape(node), draw_dtype(node, DType::Float32));
}
Values import_random_normal_like(NodeContext& node) {
  const Value x = node.input(0);
  return normal_draws(node, draw_shape_of(x.dims()), draw_dtype(node, x.dtype()));
}
Values import_random_uniform_like(NodeContext& node) {
  const Value x = node.input(0);
  return uniform_draws(node, draw_shape_of(x.dims()), draw_dtype(node, x.dtype()));
}

/// 1 with the probability that x is.
Values import_bernoulli(NodeContext& node) {
  const Value x = node.input(0);
  const DType wide = x.dtype() == DType::Float64 ? DType::Float64 : DType::Float32;
  const Value u = value_of(
      kiln::random_uniform(draw_shape_of(x.dims()), {.dtype = wide, .seed = draw_seed(node)}), "x");
  return {ir::cast(ir::less(u, ir::cast(x, wide)), draw_dtype(node, x.dtype()))};
}

Values import_multinomial(NodeContext& node) {
  const Value draws = value_of(
      kiln::random_categorical(node.tensor(0), node.integer("sample_size", 1),
                               {.dtype = draw_dtype(node, DType::Int32), .seed = draw_seed(node)}),
      "x");
  return {draws};
}

constexpr OperatorRow kRandomRows[] = {
    {"Bernoulli", {15, 22}, import_bernoulli},
    {"Multinomial", {7, 22}, import_multinomial},
    {"RandomNormal", {1, 22}, import_random_normal},
    {"RandomNormalLike", {1, 22}, import_random_normal_like},
    {"RandomUniform", {1, 22}, import_random_uniform},
    {"RandomUniformLike", {1, 22}, import_random_uniform_like},
};

}  // namespace

std::span<const OperatorRow> random_operators() { return kRandomRows; }

}  // namespace kiln::onnx
