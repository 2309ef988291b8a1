// Compares kiln/linalg.h over dims of 0 and 1, ranks, axes from both ends, unknown dims and every
// dtype with loops over all indices; gradients to second order; indices out of range.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

#include "core/types/text.h"

#include <algorithm>

namespace kiln::test {
namespace {

using testing::throws_at;
using Dims = std::vector<std::int64_t>;

/// -3 .. 3, repeated: products are exact in every signed dtype.
Array small(const Dims& dims, int step) {
  Array x = Array::zeros(dims, DType::Float64);
  int i = 0;
  for (double& element : x.as<double>()) element = (step * ++i) % 7 - 3;
  return x;
}

std::int64_t product_of(const Dims& dims) {
  std::int64_t product = 1;
  for (const std::int64_t dim : dims) product *= dim;
  return product;
}

Dims without(const Dims& dims, std::size_t axis) {
  Dims rest = dims;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(axis));
  return rest;
}

/// The element with index k of `axis`, and the indices of `flat` over the other dims.
double picked(const Array& x, std::size_t axis, std::int64_t k, std::int64_t flat) {
  std::int64_t offset = 0, stride = 1;
  for (std::size_t i = x.dims().size(); i-- > 0;) {
    const std::int64_t size = x.dims()[i];
    const std::int64_t index = i == axis ? k : flat % size;
    if (i != axis) flat /= size;
    offset += index * stride;
    stride *= size;
  }
  return x.as<double>()[static_cast<std::size_t>(offset)];
}

/// Contracts one axis of each: the dims of x without its axis, then those of y.
Array contracted(const Array& x, std::size_t x_axis, const Array& y, std::size_t y_axis) {
  const Dims left = without(x.dims(), x_axis), right = without(y.dims(), y_axis);
  Dims dims = left;
  dims.insert(dims.end(), right.begin(), right.end());
  Array result = Array::zeros(dims, DType::Float64);
  const std::int64_t rows = product_of(left), columns = product_of(right);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < x.dims()[x_axis]; ++k) {
        sum += picked(x, x_axis, k, i) * picked(y, y_axis, k, j);
      }
      result.as<double>()[static_cast<std::size_t>(i * columns + j)] = sum;
    }
  }
  return result;
}

/// Sample i, without the batch.
Array sample_of(const Array& x, std::int64_t i) {
  Array one = Array::zeros(without(x.dims(), 0), DType::Float64);
  for (std::int64_t at = 0; at < one.size(); ++at) {
    one.as<double>()[static_cast<std::size_t>(at)] =
        x.as<double>()[static_cast<std::size_t>(i * one.size() + at)];
  }
  return one;
}

/// Contracts sample by sample; the result is (batch, 1) when only the batch remains.
Array batch_contracted(const Array& x, std::size_t x_axis, const Array& y, std::size_t y_axis) {
  Dims dims = without(x.dims(), x_axis);
  const Dims right = without(without(y.dims(), y_axis), 0);
  dims.insert(dims.end(), right.begin(), right.end());
  if (dims.size() == 1) dims.push_back(1);
  std::vector<double> elements;
  for (std::int64_t i = 0; i < x.dims()[0]; ++i) {
    const Array one = contracted(sample_of(x, i), x_axis - 1, sample_of(y, i), y_axis - 1);
    elements.insert(elements.end(), one.as<double>().begin(), one.as<double>().end());
  }
  return Array(elements, dims);
}

struct Pair {
  Dims x, y;
};
const Pair kDots[] = {{{3}, {3}},
                      {{1}, {1}},
                      {{0}, {0}},
                      {{3}, {3, 2}},
                      {{3}, {2, 3, 4}},
                      {{2, 3}, {3}},
                      {{2, 3}, {3, 1}},
                      {{1, 3}, {3, 4}},
                      {{2, 1}, {1, 4}},
                      {{0, 3}, {3, 2}},
                      {{2, 0}, {0, 3}},
                      {{2, 3}, {3, 0}},
                      {{2, 3}, {4, 3, 5}},
                      {{2, 3, 4}, {4, 2}},
                      {{2, 1, 3}, {2, 3, 2}},
                      {{2, 2, 2, 3}, {3}},
                      {{1, 2, 3}, {2, 1, 3, 2}}};

const Pair kBatches[] = {
    {{2, 3}, {2, 3}},          {{1, 1}, {1, 1}},          {{0, 3}, {0, 3}},
    {{2, 0}, {2, 0}},          {{2, 3}, {2, 3, 3}},       {{2, 3, 3}, {2, 3}},
    {{2, 3, 3}, {2, 3, 3}},    {{3, 2, 2}, {3, 2, 2, 2}}, {{1, 3, 3}, {1, 3, 3}},
    {{2, 2, 2, 2}, {2, 2, 2}}, {{2, 1, 1}, {2, 1, 1, 1}}};

struct Operands {
  Tensors inputs;
  std::vector<Array> feeds;
};

Operands operands_of(const Array& x, const Array& y, bool known) {
  Operands operands{{}, {x, y}};
  for (const Array& array : operands.feeds) {
    std::vector<ShapeEntry> shape;
    for (const std::int64_t size : array.dims()) {
      shape.push_back(known ? ShapeEntry(size) : ShapeEntry(None));
    }
    operands.inputs.push_back(placeholder({.shape = shape, .dtype = array.dtype()}));
  }
  return operands;
}

Array value(const Operands& operands, const Tensor& result) {
  return evaluate(operands.inputs, {result}, operands.feeds)[0];
}

/// Rows of x at indices of that shape: the indices and the expected rows.
struct Lookup {
  Array indices, rows;
};

Lookup looked_up(const Array& x, const Dims& shape) {
  const std::int64_t row = product_of(without(x.dims(), 0));
  Dims dims = shape;
  dims.insert(dims.end(), x.dims().begin() + 1, x.dims().end());
  std::vector<std::int64_t> indices;
  std::vector<double> elements;
  for (std::int64_t i = 0; i < product_of(shape); ++i) {
    indices.push_back((3 * i + 1) % x.dims()[0]);
    for (std::int64_t k = 0; k < row; ++k) {
      elements.push_back(x.as<double>()[static_cast<std::size_t>(indices.back() * row + k)]);
    }
  }
  return {Array(indices, shape), Array(elements, dims)};
}

}  // namespace

TEST_CASE("dot: operands of any rank", "[k]") {
  for (const Pair& pair : kDots) {
    const Array x = small(pair.x, 3), y = small(pair.y, 5);
    const std::size_t y_axis = pair.y.size() == 1 ? 0 : pair.y.size() - 2;
    const Array expected = contracted(x, pair.x.size() - 1, y, y_axis);
    for (const bool known : {true, false}) {
      INFO("(" << join_text(pair.x) << ") and (" << join_text(pair.y) << "), known " << known);
      const Operands operands = operands_of(x, y, known);
      const Tensor result = dot(operands.inputs[0], operands.inputs[1]);
      CHECK(difference(value(operands, result), expected, 0) == "");
      CHECK(ndim(result) == static_cast<int>(expected.rank()));
    }
  }
}

TEST_CASE("batch_dot: every pair of axes", "[k]") {
  for (const Pair& pair : kBatches) {
    const Array x = small(pair.x, 3), y = small(pair.y, 5);
    const auto x_rank = static_cast<std::int64_t>(pair.x.size());
    const auto y_rank = static_cast<std::int64_t>(pair.y.size());
    for (std::int64_t a = 1; a < x_rank; ++a) {
      for (std::int64_t b = 1; b < y_rank; ++b) {
        if (pair.x[static_cast<std::size_t>(a)] != pair.y[static_cast<std::size_t>(b)]) continue;
        INFO("(" << join_text(pair.x) << ") and (" << join_text(pair.y) << ") over " << a << ", "
                 << b);
        const Array expected =
            batch_contracted(x, static_cast<std::size_t>(a), y, static_cast<std::size_t>(b));
        const Operands known = operands_of(x, y, true), unknown = operands_of(x, y, false);
        const auto result = [&](const Operands& operands, const Axes& axes) {
          const Array found =
              value(operands, batch_dot(operands.inputs[0], operands.inputs[1], {.axes = axes}));
          return difference(found, expected, 0);
        };
        CHECK(result(known, {a, b}) == "");
        CHECK(result(unknown, {a - x_rank, b - y_rank}) == "");
        if (a == b) CHECK(result(known, static_cast<int>(a)) == "");
        if (a == x_rank - 1 && b == (y_rank == 2 ? 1 : y_rank - 2)) {
          CHECK(result(unknown, None) == "");
        }
      }
    }
  }
}

TEST_CASE("dot and batch_dot: every dtype", "[k]") {
  const Array x = small({2, 3}, 3), y = small({3, 2}, 5), z = small({2, 3}, 2);
  for (int i = 1; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    INFO(dtype);
    const bool is_unsigned = info(dtype).kind == DTypeKind::Unsigned;
    const auto of = [&](const Array& array) {
      Array own = array;
      if (is_unsigned) {
        for (double& element : own.as<double>()) element += 3;
      }
      return own;
    };
    const Operands operands = operands_of(of(x).astype(dtype), of(y).astype(dtype), true);
    const Tensor& a = operands.inputs[0];
    const Tensor other = constant(of(z), {.dtype = dtype});
    const std::vector<Array> found =
        evaluate(operands.inputs,
                 {dot(a, operands.inputs[1]), batch_dot(a, other, {.axes = 1}), transpose(a),
                  gather(transpose(a), 1)},
                 operands.feeds);
    const Array column{of(x).as<double>()[1], of(x).as<double>()[4]};
    CHECK(difference(found[0], contracted(of(x), 1, of(y), 0).astype(dtype), 0) == "");
    CHECK(difference(found[1], batch_contracted(of(x), 1, of(z), 1).astype(dtype), 0) == "");
    CHECK(found[2].dtype() == dtype);
    CHECK(difference(found[3], column.astype(dtype), 0) == "");
  }
}

TEST_CASE("transpose: reverses the axes of any rank", "[k]") {
  for (const Dims& dims :
       std::vector<Dims>{{}, {3}, {2, 3}, {1, 0, 2}, {2, 1, 3, 2}, {2, 1, 2, 1, 3}}) {
    INFO("(" << join_text(dims) << ")");
    const Array x = small(dims, 3);
    Array expected = Array::zeros({dims.rbegin(), dims.rend()}, DType::Float64);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      std::int64_t rest = i, at = 0;  // the last axis varies slowest
      Dims index(dims.size());
      for (std::size_t axis = dims.size(); axis-- > 0; rest /= dims[axis]) {
        index[axis] = rest % dims[axis];
      }
      for (std::size_t axis = dims.size(); axis-- > 0;) at = at * dims[axis] + index[axis];
      expected.as<double>()[static_cast<std::size_t>(at)] =
          x.as<double>()[static_cast<std::size_t>(i)];
    }
    for (const bool known : {true, false}) {
      const Operands operands = operands_of(x, x, known);
      CHECK(value(operands, transpose(operands.inputs[0])) == expected);
    }
  }
}

TEST_CASE("gather: indices of any rank and dtype", "[k]") {
  const std::vector<Dims> tables{{4}, {4, 1}, {4, 0}, {4, 2, 3}, {1, 2}};
  const std::vector<Dims> shapes{{}, {1}, {0}, {3}, {2, 2}, {2, 0, 1}, {1, 2, 2}};
  for (const Dims& dims : tables) {
    const Array x = small(dims, 3);
    for (const DType dtype :
         {DType::Int8, DType::Int16, DType::Int32, DType::Int64, DType::UInt8, DType::UInt64}) {
      Tensors inputs{placeholder({.shape = dims, .dtype = "float64"})}, results;
      std::vector<Array> feeds{x}, expected;
      for (const Dims& shape : shapes) {
        const Lookup lookup = looked_up(x, shape);
        inputs.push_back(placeholder({.ndim = static_cast<int>(shape.size()), .dtype = dtype}));
        feeds.push_back(lookup.indices.astype(dtype));
        results.push_back(gather(inputs[0], inputs.back()));
        expected.push_back(lookup.rows);
      }
      const auto found = evaluate(inputs, results, feeds);
      for (std::size_t i = 0; i < found.size(); ++i) {
        INFO("(" << join_text(dims) << ") at " << dtype << "(" << join_text(shapes[i]) << ")");
        CHECK(found[i] == expected[i]);
      }
    }
  }
}

TEST_CASE("dot and gather: gradients to second order", "[k]") {
  const SmoothRow rows[] = {
      {"dot of vectors", {{3}, {3}}, [](const Tensors& x) { return square(dot(x[0], x[1])); }},
      {"dot of a vector", {{3}, {2, 3, 2}}, [](const Tensors& x) { return dot(x[0], x[1]); }},
      {"dot with a vector", {{2, 2, 3}, {3}}, [](const Tensors& x) { return dot(x[0], x[1]); }},
      {"dot of many axes",
       {{2, 1, 3}, {2, 3, 2}},
       [](const Tensors& x) { return square(dot(x[0], x[1])); }},
      {"dot with itself", {{3, 3}}, [](const Tensors& x) { return dot(x[0], transpose(x[0])); }},
      {"dot with a scalar", {{2, 2}, {}}, [](const Tensors& x) { return dot(x[0], x[1]); }},
      {"batch_dot of matrices",
       {{2, 3}, {2, 3}},
       [](const Tensors& x) { return square(batch_dot(x[0], x[1], {.axes = 1})); }},
      {"batch_dot of three and two axes",
       {{2, 4, 3}, {2, 3}},
       [](const Tensors& x) { return batch_dot(x[0], x[1]); }},
      {"batch_dot of four axes",
       {{2, 2, 3, 2}, {2, 3, 2, 2}},
       [](const Tensors& x) { return batch_dot(x[0], x[1], {.axes = {2, -3}}); }},
      {"transpose",
       {{2, 1, 3}},
       [](const Tensors& x) { return square(transpose(x[0])) * transpose(x[0])[0]; }},
      {"gather of a matrix of indices",
       {{3, 2}},
       [](const Tensors& x) {
         const Tensor at = constant(i64({2, 3}, {2, 0, 2, 2, 1, 0}), {.dtype = "int64"});
         return gather(x[0], at) * gather(square(x[0]), at);
       }},
      {"gather of one row", {{3, 2}}, [](const Tensors& x) { return square(gather(x[0], 2)); }},
  };
  for (const SmoothRow& row : rows) run(row);
}

TEST_CASE("dot: static shapes", "[k]") {
  using Sizes = std::vector<std::optional<std::int64_t>>;
  const auto sizes = [](const Shape& x, const Shape& y) {
    return int_shape(dot(placeholder({.shape = x}), placeholder({.shape = y})));
  };
  CHECK(sizes({32, 28, 3}, {3, 4}) == Sizes{32, 28, 4});
  CHECK(sizes({2, 3}, {4, 3, 5}) == Sizes{2, 4, 5});
  CHECK(sizes({None, 3}, {3, None}) == Sizes{{}, {}});
  CHECK(sizes({None, None}, {None}) == Sizes{{}});
  CHECK(sizes({3}, {3}).empty());
}

TEST_CASE("gather: indices of empty rows are not read", "[k]") {
  const Tensor table = placeholder({.shape = {None, None}, .name = "t"});
  const Tensor at = placeholder({.shape = {None}, .dtype = "int32", .name = "i"});
  const Tensor rows = gather(table, at);
  const Tensor slope = gradients(sum(square(rows)), {table})[0];
  for (const bool optimize : {true, false}) {
    const Function f = function({table, at}, {rows, slope},
                                {.name = "f", .backend = tested_backend(), .optimize = optimize});
    const std::vector<Array> found = f({Array::zeros({2, 0}), Array{5, 0, -1}});
    CHECK(found[0] == Array::zeros({3, 0}));
    CHECK(found[1] == Array::zeros({2, 0}));
    CHECK(testing::error_text<ValueError>([&] {
            f({Array::zeros({2, 1}), Array{5, 0, -1}});
          }).find("f: index 5 is outside of an axis of size 2") == 0);
  }
}

TEST_CASE("gather and dot: indices and sizes that do not fit at the call", "[k]") {
  const Tensor table = placeholder({.shape = {None, 2}, .name = "t"});
  const Tensor at = placeholder({.shape = {None}, .dtype = "int32", .name = "i"});
  const unsigned line = __LINE__ + 1;
  const Tensor rows = gather(table, at);
  const std::string location = " (op gather at " __FILE__ ":" + std::to_string(line) + ")";
  for (const bool with_slope : {false, true}) {
    Tensors results{rows};
    if (with_slope) results.push_back(gradients(sum(square(rows)), {table})[0]);
    const Function f = function({table, at}, results, {.name = "f", .backend = tested_backend()});
    const auto message = [&](const Array& indices) {
      try {
        f({Array::zeros({3, 2}), indices});
      } catch (const ValueError& error) {
        CHECK(error.where().line > line);
        return error.message();
      }
      return std::string("no error");
    };
    CHECK(message(Array{0, 3}) == "f: index 3 is outside of an axis of size 3" + location);
    CHECK(message(Array{-1, 0}) == "f: index -1 is outside of an axis of size 3" + location);
    CHECK(message(Array{0, 2}) == "no error");
    CHECK(f({Array::zeros({0, 2}), Array::zeros({0}, DType::Int32)})[0] == Array::zeros({0, 2}));
  }
  const Tensor x = placeholder({.shape = {None, None, 2}, .name = "x"});
  const Tensor y = placeholder({.shape = {None, None, 2}, .name = "y"});
  const unsigned batched = __LINE__ + 1;
  const Tensor product = batch_dot(x, y, {.axes = 1});
  const Function g = function({x, y}, {product}, {.backend = tested_backend()});
  testing::run({
      {throws_at<ValueError>(batched),
       [&] { g({Array::zeros({2, 3, 2}), Array::zeros({4, 3, 2})}); },
       "batch_dot: contracted or shared sizes x.0 and y.0 differ (float32[x.0,x.1,2], "
       "float32[y.0,y.1,2]); in this call x.0 is 2 and y.0 is 4"},
      {throws_at<ValueError>(batched),
       [&] { g({Array::zeros({2, 3, 2}), Array::zeros({2, 1, 2})}); },
       "batch_dot: contracted or shared sizes x.1 and y.1 differ (float32[x.0,x.1,2], "
       "float32[y.0,y.1,2]); in this call x.1 is 3 and y.1 is 1"},
  });
  CHECK(g({Array::zeros({2, 3, 2}), Array::zeros({2, 3, 2})})[0] == Array::zeros({2, 2, 2}));
}

}  // namespace kiln::test
