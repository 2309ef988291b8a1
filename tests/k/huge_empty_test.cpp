// Tests tensors with a dim of 0 whose other dims have a product beyond 64 bits: they are empty, and
// functions of them run.
#include "tests/support/catch.h"
#include "tests/k/row.h"

namespace kiln::test {
namespace {

using Dims = std::vector<std::int64_t>;

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

struct EmptyRow {
  const char* name;
  Build build;
  /// The dims of the result, from those of the operand.
  Dims (*result)(const Dims& dims);
};

Dims same(const Dims& dims) { return dims; }
Dims scalar(const Dims&) { return {}; }

const EmptyRow kRows[] = {
    {"add", [](const Tensors& x) { return x[0] + 1.0; }, same},
    {"product with itself", [](const Tensors& x) { return x[0] * x[0]; }, same},
    {"permute_dimensions",
     [](const Tensors& x) { return permute_dimensions(x[0], {2, 0, 1}) * 2; },
     [](const Dims& dims) { return Dims{dims[2], dims[0], dims[1]}; }},
    {"flatten", [](const Tensors& x) { return flatten(x[0]); },
     [](const Dims&) { return Dims{0}; }},
    {"sum", [](const Tensors& x) { return sum(x[0]); }, scalar},
    {"sum of the gradient of a square",
     [](const Tensors& x) { return sum(gradients(sum(square(x[0])), {x[0]})[0]); }, scalar},
    {"gradient of mean", [](const Tensors& x) { return gradients(mean(x[0]), {x[0]})[0]; }, same},
    {"gradient of max", [](const Tensors& x) { return gradients(max(x[0]), {x[0]})[0]; }, same},
    {"gradient of prod", [](const Tensors& x) { return gradients(prod(x[0]), {x[0]})[0]; }, same},
    {"cumsum", [](const Tensors& x) { return cumsum(x[0], {.axis = 1}); }, same},
    {"reverse", [](const Tensors& x) { return reverse(x[0], 0); }, same},
    {"stack", [](const Tensors& x) { return stack({x[0], x[0]}, {.axis = 0}); },
     [](const Dims& dims) { return Dims{2, dims[0], dims[1], dims[2]}; }},
    {"expand_dims", [](const Tensors& x) { return expand_dims(x[0], {.axis = 1}) + 1.0; },
     [](const Dims& dims) { return Dims{dims[0], 1, dims[1], dims[2]}; }},
};

}  // namespace

TEST_CASE("sizes: a dim of 0 makes a tensor empty, whatever the other dims", "[k]") {
  for (const Dims& dims : {Dims{0, kHuge, kHuge}, {kHuge, 0, kHuge}, {kHuge, kHuge, 0}}) {
    const Array x = Array::zeros(dims);
    INFO(dims[0] << ", " << dims[1] << ", " << dims[2]);
    for (const EmptyRow& row : kRows) {
      INFO(row.name);
      const Tensors inputs{placeholder({.shape = Shape(dims)})};
      const Tensor y = row.build(inputs);
      for (const std::string& backend : {std::string("reference"), tested_backend()}) {
        const Array result = function(inputs, {y}, {.backend = backend})({x})[0];
        CHECK(result == Array::zeros(row.result(dims)));
      }
    }
    CHECK(get_value(variable(x)).dims() == dims);
    CHECK(eval(constant(x) + 1.0).dims() == dims);
    CHECK(eval(zeros(Shape(dims)) + 1.0).dims() == dims);
  }
}

}  // namespace kiln::test
