// Tests sparse tensors: each result is that of the dense tensors of equal elements.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

#include <sstream>

namespace kiln::test {
namespace {

using testing::throws;

/// [[0 2 0] [0 0 0] [1 0 3]]; two entries add up to the 3.
SparseArray matrix() {
  return SparseArray::of(i64({4, 2}, {2, 2, 0, 1, 2, 0, 2, 2}), Array{1.f, 2.f, 1.f, 2.f}, {3, 3});
}
Array dense_matrix() { return f32({3, 3}, {0, 2, 0, 0, 0, 0, 1, 0, 3}); }

Tensor sparse_input(const Shape& shape) {
  return placeholder({.shape = shape, .sparse = true, .name = "x"});
}

std::string shown(const Tensor& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

Array call(const Tensor& x, const Tensor& result, const Feed& feed) {
  return function({x}, {result}, {.backend = tested_backend()})({feed})[0];
}

}  // namespace

TEST_CASE("sparse placeholder: has the properties of its matrix", "[k]") {
  const Tensor x = sparse_input({None, 3});
  CHECK(is_sparse(x));
  CHECK(is_placeholder(x));
  CHECK(is_tensor(x));
  CHECK_FALSE(is_variable(x));
  CHECK_FALSE(is_keras_tensor(x));
  CHECK(ndim(x) == 2);
  CHECK(dtype(x) == "float32");
  CHECK(int_shape(x) == std::vector<std::optional<std::int64_t>>{std::nullopt, 3});
  CHECK(shown(x) == "x sparse float32[None,3]");
  CHECK_FALSE(is_sparse(to_dense(x)));
  CHECK(same_node(x, x));
  CHECK(call(x, shape(x), matrix()) == i64({2}, {3, 3}));
}

TEST_CASE("sparse tensor: to_dense", "[k]") {
  for (const Shape& shape : {Shape{3, 3}, Shape{None, None}}) {
    const Tensor x = sparse_input(shape);
    CHECK(call(x, to_dense(x), matrix()) == dense_matrix());
    CHECK(call(x, x, matrix()) == dense_matrix());
    CHECK(call(x, to_dense(x), dense_matrix()) == dense_matrix());
    CHECK(call(x, to_dense(x) * 2, SparseArray::of(i64({0, 2}, {}), f32({0}, {}), {3, 3})) ==
          Array::zeros({3, 3}));
  }
  const Tensor x = sparse_input({None, None});
  CHECK(call(x, x, SparseArray::of_dense(Array::zeros({0, 4}))) == Array::zeros({0, 4}));
  const Function f = function({x}, {x}, {.backend = tested_backend()});
  CHECK(f(std::vector<Array>{dense_matrix()})[0] == dense_matrix());
  const Tensor dense = placeholder({.shape = {2}});
  CHECK(same_node(to_dense(dense), dense));
}

TEST_CASE("sparse variable: a constant", "[k]") {
  const Tensor x = variable(matrix(), {.dtype = "float64", .name = "m"});
  CHECK(is_sparse(x));
  CHECK_FALSE(is_variable(x));
  CHECK_FALSE(is_placeholder(x));
  CHECK(shown(x) == "m sparse float64[3,3]");
  CHECK(eval(x) == dense_matrix().astype(DType::Float64));
  CHECK(function({}, {x}, {.backend = tested_backend()})({})[0] ==
        dense_matrix().astype(DType::Float64));
}

TEST_CASE("sparse dot: times a dense matrix", "[k]") {
  const Array right = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  for (const Shape& shape : {Shape{3, 3}, Shape{None, None}}) {
    const Tensor x = sparse_input(shape), w = variable(right);
    CHECK(call(x, dot(x, w), matrix()) == f32({3, 2}, {6, 8, 0, 0, 16, 20}));
    CHECK(call(x, dot(x, variable(Array{1.f, 2.f, 3.f})), matrix()) == Array{4.f, 0.f, 10.f});
    const Tensor upstream = constant(f32({3, 2}, {1, 2, 3, 4, 5, 6}));
    const Tensor slope = gradients(sum(dot(x, w) * upstream), {w})[0];
    CHECK(call(x, slope, matrix()) == f32({3, 2}, {5, 6, 2, 4, 15, 18}));
  }
}

TEST_CASE("sparse dot: every numeric dtype, times a dense matrix", "[k]") {
  for (const DType dtype : {DType::Int32, DType::Int64, DType::Float16, DType::BFloat16,
                            DType::Float32, DType::Float64}) {
    INFO(dtype);
    const Tensor x = placeholder({.shape = {None, None}, .dtype = dtype, .sparse = true});
    const Tensor y = placeholder({.shape = {None, 2}, .dtype = dtype});
    const Function f = function({x, y}, {dot(x, y), to_dense(x)}, {.backend = tested_backend()});
    const Array right = Array{{1, 2}, {3, 4}, {5, 6}}.astype(dtype);
    const SparseArray fed =
        SparseArray::of(matrix().indices(), matrix().values().astype(dtype), {3, 3});
    const auto found = f({fed, right});
    CHECK(found[0] == Array{{6, 8}, {0, 0}, {16, 20}}.astype(dtype));
    CHECK(found[1] == dense_matrix().astype(dtype));
    const auto empty = f({SparseArray::of_dense(Array::zeros({0, 3}, dtype)), right});
    CHECK(empty[0] == Array::zeros({0, 2}, dtype));
    const auto over_nothing =
        f({SparseArray::of_dense(Array::zeros({2, 0}, dtype)), Array::zeros({0, 2}, dtype)});
    CHECK(over_nothing[0] == Array::zeros({2, 2}, dtype));
    const auto one =
        f({SparseArray::of_dense(Array::full({1, 1}, 3, dtype)), Array{{2, 5}}.astype(dtype)});
    CHECK(one[0] == Array{{6, 15}}.astype(dtype));
  }
}

TEST_CASE("sparse dot: gradients", "[k]") {
  const SmoothRow rows[] = {
      {"dot of a sparse matrix",
       {{3, 2}},
       [](const Tensors& x) {
         return square(dot(variable(matrix(), {.dtype = "float64"}), x[0]));
       }},
      {"dot of a sparse matrix and a vector",
       {{3}},
       [](const Tensors& x) {
         return square(dot(variable(matrix(), {.dtype = "float64"}), x[0]));
       }},
      {"to_dense",
       {{3, 3}},
       [](const Tensors& x) {
         return square(to_dense(variable(matrix(), {.dtype = "float64"})) * x[0]);
       }},
      {"concatenate of sparse and dense",
       {{3, 2}},
       [](const Tensors& x) {
         const Tensor m = variable(matrix(), {.dtype = "float64"});
         return square(concatenate({m, x[0]}, {.axis = 1}));
       }},
  };
  for (const SmoothRow& row : rows) run(row);
}

TEST_CASE("sparse concatenate: along every axis", "[k]") {
  const Tensor x = sparse_input({None, None}), m = variable(matrix());
  const Tensor dense = constant(dense_matrix());
  for (const int axis : {0, 1, -1}) {
    const Tensor joined = concatenate({x, m, x}, {.axis = axis});
    CHECK(is_sparse(joined));
    const Tensor expected = concatenate({dense, dense, dense}, {.axis = axis});
    CHECK(call(x, joined, matrix()) == eval(expected));
    const Tensor mixed = concatenate({x, dense}, {.axis = axis});
    CHECK_FALSE(is_sparse(mixed));
    CHECK(call(x, mixed, matrix()) == eval(concatenate({dense, dense}, {.axis = axis})));
  }
}

TEST_CASE("sparse placeholder: takes three views", "[k]") {
  const Tensor x = sparse_input({None, None});
  const Function f = function({x}, {x}, {.backend = tested_backend()});
  const SparseArray fed = matrix();
  const Array extent = Array::zeros({3, 3, 0}, DType::Bool);
  Array result = Array::zeros({3, 3});
  const std::vector<ArrayView> parts{fed.indices().as_view(), fed.values().as_view(),
                                     extent.as_view()};
  f.call_into(parts, std::vector<MutableArrayView>{{result.dtype(), result.data(), result.dims()}});
  CHECK(result == dense_matrix());
}

TEST_CASE("sparse placeholder: fed from vectors", "[k]") {
  const Tensor x = sparse_input({None, 3}), d = placeholder({.shape = {2}, .name = "d"});
  const Function f = function({x, d}, {x, d * 2}, {.name = "f", .backend = tested_backend()});
  const Array two{1.f, 2.f};
  std::vector<Feed> feeds{matrix(), two};
  CHECK(f(feeds) == std::vector<Array>{dense_matrix(), Array{2.f, 4.f}});
  feeds.clear();
  feeds.emplace_back(dense_matrix());
  feeds.push_back(std::vector<float>{3, 4});
  CHECK(f(feeds) == std::vector<Array>{dense_matrix(), Array{6.f, 8.f}});
  CHECK(f(std::vector<Array>{dense_matrix(), two}) == f({matrix(), two}));
  feeds = {matrix(), matrix()};
  CHECK(testing::error_text<TypeError>([&] { f(feeds); }) ==
        "f: inputs[1] is dense but was fed a SparseArray");
  feeds.pop_back();
  CHECK(testing::error_text<ValueError>([&] { f(feeds); }) == "f: takes 2 inputs but 1 was given");
  const Tensor y = sparse_input({3, 3});
  const Function both = function({x, y}, {dot(x, to_dense(y))}, {.backend = tested_backend()});
  CHECK(both(std::vector<SparseArray>{matrix(), matrix()}) == both({matrix(), dense_matrix()}));
  CHECK(f(std::vector<Feed>{matrix(), Array{1, 2}})[1] == Array{2.f, 4.f});
}

TEST_CASE("ctc_label_dense_to_sparse: dense labels as a sparse tensor", "[k]") {
  const Tensor labels = placeholder({.shape = {None, None}, .dtype = "int32"});
  const Tensor lengths = placeholder({.ndim = 1, .dtype = "int32"});
  const Tensor found = ctc_label_dense_to_sparse(labels, lengths);
  CHECK(is_sparse(found));
  CHECK(dtype(found) == "int32");
  const Function f = function({labels, lengths}, {found}, {.backend = tested_backend()});
  CHECK(f({i32({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), i32({3}, {2, 0, 3})})[0] ==
        i32({3, 3}, {1, 2, 0, 0, 0, 0, 7, 8, 9}));
  CHECK(f({i32({0, 3}, {}), i32({0}, {})})[0] == i32({0, 3}, {}));
  CHECK(testing::error_text<Error>([&] { f({i32({1, 2}, {1, 2}), i32({1}, {3})}); }) ==
        "ctc_label_dense_to_sparse: label_lengths[0] is 3 but labels have 2 columns");
}

TEST_CASE("sparse tensors: misuse", "[k]") {
  const Tensor x = sparse_input({2, 3}), dense = placeholder({.shape = {4, 2}, .name = "d"});
  const Tensor other = placeholder({.shape = {3, 2}, .dtype = "int32", .name = "i"});
  const Tensor wide = sparse_input({2, 4}), of_three = placeholder({.shape = {3, 2, 2}});
  const Tensor other_values = placeholder({.shape = {2, 3}, .dtype = "int32", .sparse = true});
  testing::run({
      {throws<TypeError>(), [&] { exp(x); },
       "exp: x is sparse; to_dense makes it dense (x float32[2,3])"},
      {throws<TypeError>(), [&] { x + 1; },
       "operator+: x is sparse; to_dense makes it dense (x float32[2,3])"},
      {throws<TypeError>(), [&] { dot(dense, x); },
       "dot: y is sparse; to_dense makes it dense (y float32[2,3])"},
      {throws<ValueError>(), [&] { dot(x, dense); },
       "dot: axis 1 of x has size 3 but axis 0 of y has size 4 (x sparse float32[2,3], y "
       "float32[4,2])"},
      {throws<TypeError>(), [&] { dot(x, other); },
       "dot: x has dtype float32 but y has dtype int32 (x sparse float32[2,3], y int32[3,2])"},
      {throws<ValueError>(), [&] { dot(x, 2); },
       "dot: y has rank 0, not 1 or 2, as a sparse x requires "
       "(x sparse float32[2,3], y float32[])"},
      {throws<ValueError>(), [&] { concatenate({x, wide}, {.axis = 0}); },
       "concatenate: tensors differ on axis 1, along which they are not concatenated "
       "(float32[2,3], float32[2,4])"},
      {throws<TypeError>(), [&] { concatenate({x, other_values}, {.axis = 0}); },
       "concatenate: tensors have different dtypes (float32[2,3], int32[2,3])"},
      {throws<ValueError>(), [&] { is_sparse(Tensor()); }, "is_sparse: tensor is an empty tensor"},
      {throws<ValueError>(), [&] { to_dense(Tensor()); }, "to_dense: tensor is an empty tensor"},
      {throws<TypeError>(), [&] { zeros_like(x); },
       "zeros_like: x is sparse; to_dense makes it dense (x float32[2,3])"},
      {throws<TypeError>(), [&] { gradients(sum(to_dense(x)), {x}); },
       "gradients: variables[0] is sparse; to_dense makes it dense (variables[0] float32[2,3])"},
      {throws<TypeError>(), [&] { get_value(x); },
       "get_value: x is sparse; to_dense makes it dense (x float32[2,3])"},
      {throws<TypeError>(), [&] { batch_dot(x, dense); },
       "batch_dot: x is sparse; to_dense makes it dense (x float32[2,3])"},
      {throws<ValueError>(), [&] { dot(x, of_three); },
       "dot: y has rank 3, not 1 or 2, as a sparse x requires "
       "(x sparse float32[2,3], y float32[3,2,2])"},
      {throws<ValueError>(), [&] { concatenate({x, wide}, {.axis = 2}); },
       "concatenate: axis 2 is out of range for rank 2"},
      {throws<ValueError>(), [&] { placeholder({.ndim = 3, .sparse = true}); },
       "placeholder: a sparse placeholder has rank 2, not 3"},
      {throws<TypeError>(), [&] { function({variable(matrix())}, {x}); },
       "function: inputs[0] is not a placeholder (sparse float32[3,3])"},
      {throws<ValueError>(), [&] { function({x, x}, {x}); },
       "function: inputs[1] is given twice (x.indices int64[x.count,2])"},
      {throws<ValueError>(), [] { SparseArray::of(i64({1, 2}, {0, 3}), Array{1.f}, {2, 3}); },
       "SparseArray: indices[0] is 3 of 3 columns"},
      {throws<ValueError>(), [] { SparseArray::of(i64({1, 2}, {-1, 0}), Array{1.f}, {2, 3}); },
       "SparseArray: indices[0] is -1 of 2 rows"},
      {throws<ValueError>(), [] { SparseArray::of(i64({1, 2}, {0, 0}), Array{1.f, 2.f}, {2, 3}); },
       "SparseArray: indices have shape [1,2] but there are 2 values"},
      {throws<ValueError>(), [] { SparseArray::of(i64({1, 2}, {0, 0}), Array{1.f}, {2}); },
       "SparseArray: dims [2] are not rows and columns"},
      {throws<TypeError>(), [] { SparseArray::of(f32({1, 2}, {0, 0}), Array{1.f}, {2, 3}); },
       "SparseArray: indices are float32"},
      {throws<ValueError>(), [] { SparseArray::of(i64({0, 2}, {}), f32({0, 1}, {}), {2, 3}); },
       "SparseArray: values have shape [0,1]"},
      {throws<ValueError>(), [] { SparseArray::of_dense(Array{1.f}); },
       "SparseArray: dense has shape [1], not a matrix"},
  });
}

TEST_CASE("placeholders, sparse and dense: values of the other kind are errors", "[k]") {
  const Tensor x = sparse_input({None, 3}), d = placeholder({.shape = {2}, .name = "d"});
  const Function f = function({x, d}, {x, d}, {.name = "f", .backend = tested_backend()});
  const SparseArray wide = SparseArray::of_dense(Array::zeros({2, 4}));
  const Array two = Array::zeros({2});
  testing::run({
      {throws<ValueError>(), [&] { f({matrix()}); }, "f: takes 2 inputs but 1 was given"},
      {throws<TypeError>(), [&] { f({matrix(), matrix()}); },
       "f: inputs[1] is dense but was fed a SparseArray"},
      {throws<ValueError>(), [&] { f({wide, two}); },
       "f: inputs[0] (x sparse float32[x.0,3]) was fed a matrix of shape [2,4]"},
      {throws<ValueError>(), [&] { f({two, two}); },
       "f: inputs[0] is a sparse matrix but was fed an array of shape [2]"},
      {throws<ValueError>(), [&] { f(std::vector<Array>{two, two}); },
       "f: inputs[0] is a sparse matrix but was fed an array of shape [2]"},
  });
  CHECK(f({matrix(), two})[0] == dense_matrix());
}

}  // namespace kiln::test
