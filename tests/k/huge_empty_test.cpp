// Tests tensors with a dim of 0 whose other dims have a product beyond 64 bits: they are empty, and
// functions of them run, whether the sizes are known or not.
#include "core/types/text.h"
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/k/row.h"

#include <bit>

namespace kiln::test {
namespace {

using Dims = std::vector<std::int64_t>;

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

/// A function of a tensor [d0,d1,d2] of which `zero` is the axis of size 0.
struct EmptyRow {
  const char* name;
  Tensor (*build)(const Tensor& x, int zero);
  /// The dims of the result, from those of the operand.
  Dims (*result)(const Dims& dims, int zero);
  /// Whether it multiplies sizes when it is built or compiled: known ones must have a product
  /// within 64 bits.
  bool multiplies = false;
};

Dims same(const Dims& dims, int) { return dims; }
Dims scalar(const Dims&, int) { return {}; }

/// x with the axis of size 0 first.
Tensor zero_first(const Tensor& x, int zero) {
  return permute_dimensions(x, {zero, (zero + 1) % 3, (zero + 2) % 3});
}

Dims without(Dims dims, int axis) {
  dims.erase(dims.begin() + axis);
  return dims;
}

const EmptyRow kHugeEmptyRows[] = {
    {"add", [](const Tensor& x, int) { return x + 1.0; }, same},
    {"product with itself", [](const Tensor& x, int) { return x * x; }, same},
    {"tanh", [](const Tensor& x, int) { return tanh(x) - x; }, same},
    {"cast", [](const Tensor& x, int) { return cast(cast(x, "int32") + 1, "float32"); }, same},
    {"permute_dimensions",
     [](const Tensor& x, int) { return permute_dimensions(x, {2, 0, 1}) * 2; },
     [](const Dims& dims, int) { return Dims{dims[2], dims[0], dims[1]}; }},
    {"transpose", [](const Tensor& x, int) { return transpose(x); },
     [](const Dims& dims, int) { return Dims{dims[2], dims[1], dims[0]}; }},
    {"flatten", [](const Tensor& x, int) { return flatten(x); },
     [](const Dims&, int) { return Dims{0}; }, true},
    {"reshape", [](const Tensor& x, int) { return reshape(x, {0, kHuge, kHuge, 3}) + 1.0; },
     [](const Dims&, int) { return Dims{0, kHuge, kHuge, 3}; }, true},
    {"reshape to one unknown size", [](const Tensor& x, int) { return reshape(x, {-1, 7}) + 1.0; },
     [](const Dims&, int) { return Dims{0, 7}; }, true},
    {"sum", [](const Tensor& x, int) { return sum(x); }, scalar, true},
    {"sum of a function of itself", [](const Tensor& x, int) { return sum(exp(x) * x); }, scalar,
     true},
    {"prod minus 1", [](const Tensor& x, int) { return prod(x) - 1.0; }, scalar, true},
    {"sum of a transposition and itself",
     [](const Tensor& x, int zero) {
       const Tensor y = zero_first(x, zero);
       return sum(y + permute_dimensions(y, {0, 2, 1}));
     },
     scalar},
    {"sum over an axis",
     [](const Tensor& x, int zero) { return sum(x, {.axis = {(zero + 1) % 3}}); },
     [](const Dims& dims, int zero) { return without(dims, (zero + 1) % 3); }},
    {"mean over an axis",
     [](const Tensor& x, int zero) { return mean(x, {.axis = {(zero + 2) % 3}}); },
     [](const Dims& dims, int zero) { return without(dims, (zero + 2) % 3); }},
    {"maximum over an axis",
     [](const Tensor& x, int zero) { return max(x, {.axis = {(zero + 1) % 3}}); },
     [](const Dims& dims, int zero) { return without(dims, (zero + 1) % 3); }},
    {"argmax", [](const Tensor& x, int zero) { return argmax(x, {.axis = (zero + 1) % 3}); },
     [](const Dims& dims, int zero) { return without(dims, (zero + 1) % 3); }},
    {"softmax", [](const Tensor& x, int zero) { return softmax(x, {.axis = (zero + 1) % 3}); },
     same},
    {"sum of the gradient of a square",
     [](const Tensor& x, int) { return sum(gradients(sum(square(x)), {x})[0]); }, scalar, true},
    {"gradient of mean", [](const Tensor& x, int) { return gradients(mean(x), {x})[0]; }, same,
     true},
    {"gradient of max", [](const Tensor& x, int) { return gradients(max(x), {x})[0]; }, same, true},
    {"gradient of prod", [](const Tensor& x, int) { return gradients(prod(x), {x})[0]; }, same,
     true},
    {"gradient of a maximum",
     [](const Tensor& x, int zero) {
       return gradients(sum(max(x, {.axis = {(zero + 1) % 3}})), {x})[0];
     },
     same},
    {"cumsum", [](const Tensor& x, int) { return cumsum(x, {.axis = 1}); }, same},
    {"reverse", [](const Tensor& x, int) { return reverse(x, 0); }, same},
    {"stack", [](const Tensor& x, int) { return stack({x, x}, {.axis = 0}); },
     [](const Dims& dims, int) { return Dims{2, dims[0], dims[1], dims[2]}; }},
    {"concatenate",
     [](const Tensor& x, int zero) { return concatenate({x, tanh(x)}, {.axis = zero}); }, same},
    {"expand_dims", [](const Tensor& x, int) { return expand_dims(x, {.axis = 1}) + 1.0; },
     [](const Dims& dims, int) { return Dims{dims[0], 1, dims[1], dims[2]}; }},
    {"gather of nothing",
     [](const Tensor& x, int) { return gather(x, zeros({0}, {.dtype = "int32"})); },
     [](const Dims& dims, int) { return Dims{0, dims[1], dims[2]}; }},
    {"gather of rows",
     [](const Tensor& x, int zero) {
       return gather(permute_dimensions(x, {(zero + 1) % 3, zero, (zero + 2) % 3}),
                     zeros({2}, {.dtype = "int32"}));
     },
     [](const Dims&, int) { return Dims{2, 0, kHuge}; }},
    {"dot",
     [](const Tensor& x, int zero) {
       const Tensor y = zero_first(x, zero);
       return dot(y, y);
     },
     [](const Dims&, int) { return Dims{0, kHuge, 0, kHuge}; }},
    {"batch_dot",
     [](const Tensor& x, int zero) {
       const Tensor y = zero_first(x, zero);
       return batch_dot(y, y, {.axes = {2, 1}});
     },
     [](const Dims&, int) { return Dims{0, kHuge, kHuge}; }},
};

/// The shape with the sizes unknown whose bit is set in `unknown`.
Shape shape_of(const Dims& dims, unsigned unknown) {
  std::vector<ShapeEntry> entries;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    entries.push_back((unknown >> axis & 1) != 0 ? ShapeEntry(None) : ShapeEntry(dims[axis]));
  }
  return entries;
}

/// Whether the sizes that are known have a product beyond 64 bits.
bool is_known_huge(int zero, unsigned unknown) {
  return std::popcount(unknown) == 1 && (unknown >> zero & 1) != 0;
}

Dims dims_with_zero(int zero) {
  Dims dims{kHuge, kHuge, kHuge};
  dims[static_cast<std::size_t>(zero)] = 0;
  return dims;
}

/// The result, or the text of the error.
std::string run_row(const EmptyRow& row, int zero, unsigned unknown, const std::string& backend) {
  const Dims dims = dims_with_zero(zero);
  try {
    const Tensors inputs{placeholder({.shape = shape_of(dims, unknown)})};
    const Tensor y = row.build(inputs[0], zero);
    const Array result = function(inputs, {y}, {.backend = backend})({Array::zeros(dims)})[0];
    const Array expected = Array::zeros(row.result(dims, zero), result.dtype());
    return result == expected ? "" : text("a result of ", join_text(result.dims(), ","));
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("sizes: a dim of 0 makes a tensor empty, whatever the other dims", "[k]") {
  for (const EmptyRow& row : kHugeEmptyRows) {
    for (int zero = 0; zero < 3; ++zero) {
      for (unsigned unknown = 0; unknown < 8; ++unknown) {
        if (row.multiplies && is_known_huge(zero, unknown)) continue;
        for (const std::string& backend : {std::string("reference"), tested_backend()}) {
          INFO(row.name << ", axis " << zero << " is 0, unknown sizes " << unknown << ", "
                        << backend);
          CHECK(run_row(row, zero, unknown, backend) == "");
        }
      }
    }
  }
}

TEST_CASE("sizes: reductions of an empty tensor have the value of no elements", "[k]") {
  const Tensor x = placeholder({.shape = {None, None, None}});
  const Tensors reductions{sum(x), mean(x), prod(x), max(x), logsumexp(x), cast(any(x), "float32")};
  const float expected[] = {0, kNaN, 1, -kInf, -kInf, 0};
  constexpr std::int64_t kLong = std::int64_t{1} << 40;
  const std::vector<Dims> list{{kLong, 0, kLong}, {kLong, 0, 1}, {kLong, kLong, 0}, {0, kLong, 1}};
  for (const std::string& backend : {std::string("reference"), tested_backend()}) {
    const Function f = function({x}, reductions, {.backend = backend});
    for (const Dims& dims : list) {
      const std::vector<Array> found = f({Array::zeros(dims)});
      for (std::size_t i = 0; i < found.size(); ++i) {
        INFO(join_text(dims, ",") << ", " << backend << ", reduction " << i);
        CHECK(difference(found[i], f32({}, {expected[i]}), 0) == "");
      }
    }
  }
}

TEST_CASE("sizes: a product beyond 64 bits without a 0 is an error", "[k]") {
  const Tensor x = placeholder({.shape = {None, None, None}});
  const Tensor column = flatten(x);
  Tensor sums = column;
  for (int i = 0; i < 3; ++i) sums = expand_dims(sums, {.axis = 0}) + expand_dims(sums);
  const Array elements = Array::zeros({1 << 16, 1, 1});
  for (const std::string& backend : {std::string("reference"), tested_backend()}) {
    const Function f = function({x}, {flatten(sums)}, {.backend = backend});
    CHECK(f({Array::zeros({0, 128, 2})})[0].dims() == Dims{0});
    const std::string text = testing::error_text<Error>([&] { f({elements}); });
    INFO(backend << ": " << text);
    CHECK(text.find("a dimension does not fit in 64 bits") != text.npos);
  }
}

TEST_CASE("sizes: values without elements have any other dims", "[k]") {
  for (int zero = 0; zero < 3; ++zero) {
    const Dims dims = dims_with_zero(zero);
    const Array x = Array::zeros(dims);
    CHECK(get_value(variable(x)).dims() == dims);
    CHECK(eval(constant(x) + 1.0).dims() == dims);
    CHECK(eval(zeros(Shape(dims)) + 1.0).dims() == dims);
  }
}

}  // namespace kiln::test
