// Tests creation (kiln/create.h, kiln/variable.h) and inspection. Expected values are by hand, from
// the specification.
#include "tests/support/catch.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

#include <cmath>

namespace kiln::test {
namespace {

using testing::throws;
using testing::Misuse;
using Sizes = std::vector<std::optional<std::int64_t>>;

const DType kDTypes[] = {DType::Bool,   DType::Int8,    DType::Int16,    DType::Int32,
                         DType::Int64,  DType::UInt8,   DType::UInt16,   DType::UInt32,
                         DType::UInt64, DType::Float16, DType::BFloat16, DType::Float32,
                         DType::Float64};

/// The value on the tested backend.
Array value(const Tensor& x) { return evaluate({}, {x}, {})[0]; }

/// Sets floatx() to float64 for a scope.
struct Float64 {
  Float64() { set_floatx("float64"); }
  ~Float64() { set_floatx("float32"); }
};

double mean_of(const Array& x) {
  double sum = 0;
  for (const double element : x.as<double>()) sum += element;
  return sum / static_cast<double>(x.size());
}

double variance_of(const Array& x) {
  const double mean = mean_of(x);
  double sum = 0;
  for (const double element : x.as<double>()) sum += (element - mean) * (element - mean);
  return sum / static_cast<double>(x.size());
}

constexpr int kLine = __LINE__ + 1;  // of the placeholder
Tensor unfed() { return placeholder({.shape = {2}, .name = "p"}); }

}  // namespace

TEST_CASE("variable: its dtype is floatx(), whatever the dtype of its value", "[k]") {
  CHECK(dtype(variable(Array{1, 2})) == "float32");
  CHECK(dtype(variable(Array(true))) == "float32");
  CHECK(dtype(variable(Array(1.0))) == "float32");
  const Float64 wide;
  CHECK(dtype(variable(Array{1.f})) == "float64");
  CHECK(dtype(zeros({2})) == "float64");
  CHECK(dtype(constant(1)) == "float64");
  CHECK(dtype(placeholder({.ndim = 1})) == "float64");
  CHECK(dtype(eye(2)) == "float64");
  CHECK(dtype(random_normal_variable({2}, 0, 1)) == "float64");
  CHECK(dtype(random_uniform({2})) == "float64");
  CHECK(dtype(one_hot(of({2}, "int32"), 2)) == "float64");
  CHECK(dtype(mean(of({2}, "int32"))) == "float64");
}

TEST_CASE("creation: variables, constants and filled tensors of every dtype", "[k]") {
  for (const DType dtype : kDTypes) {
    INFO(dtype);
    const Array expected = Array{1, 0, 1}.astype(dtype);
    CHECK(get_value(variable(Array{1, 0, 1}, {.dtype = dtype})) == expected);
    CHECK(value(variable(Array{1.f, 0.f, 1.f}, {.dtype = dtype})) == expected);
    CHECK(value(constant({1, 0, 1}, {.dtype = dtype})) == expected);
    CHECK(get_value(ones({2, 1}, {.dtype = dtype})) == Array::full({2, 1}, 1, dtype));
    CHECK(get_value(zeros({0, 3}, {.dtype = dtype})) == Array::zeros({0, 3}, dtype));
    CHECK(get_value(eye(2, {.dtype = dtype})) == Array{{1, 0}, {0, 1}}.astype(dtype));
    const Tensor x = constant({{5, 6}}, {.dtype = dtype});
    CHECK(value(zeros_like(x)) == Array::zeros({1, 2}, dtype));
    CHECK(value(ones_like(x)) == Array::full({1, 2}, 1, dtype));
    CHECK(value(identity(x)) == Array{{5, 6}}.astype(dtype));
    CHECK(kiln::dtype(cast(of({2}), dtype)) == dtype_name(dtype));
  }
}

TEST_CASE("variable: created from a tensor it takes the tensor's current value", "[k]") {
  const Variable x = variable({1., 2.}, {.name = "x"});
  const Variable y = variable(3 * x, {.dtype = "int32", .name = "y"});
  set_value(x, Array{5.f, 6.f});
  CHECK(get_value(y) == Array{3, 6});
  CHECK(x.name() == "x");
  CHECK(y.name() == "y");
  CHECK_FALSE(x.constraint());
  const auto positive = [](const Tensor& w) { return maximum(w, 0); };
  const Variable w = variable({-1., 2.}, {.constraint = positive});
  CHECK(get_value(w) == Array{-1.f, 2.f});
  CHECK(value(w.constraint()(w)) == Array{0.f, 2.f});
  CHECK(value(Variable(Tensor(w)).constraint()(w)) == Array{0.f, 2.f});
}

TEST_CASE("variable: values exist under manual_variable_initialization, too", "[k]") {
  for (const bool manual : {true, false}) {
    manual_variable_initialization(manual);
    CHECK(get_value(ones({2})) == Array{1.f, 1.f});
    CHECK(value(variable({3., 4.})) == Array{3.f, 4.f});
  }
}

TEST_CASE("constant: filled or reshaped", "[k]") {
  CHECK(value(constant(3)) == Array(3.f));
  CHECK(value(constant(3, {.shape = {2, 2}})) == Array{{3.f, 3.f}, {3.f, 3.f}});
  CHECK(value(constant({1, 2, 3, 4}, {.shape = {2, 2}})) == Array{{1.f, 2.f}, {3.f, 4.f}});
  CHECK(value(constant({{1, 2}, {3, 4}}, {.shape = {4}})) == Array{1.f, 2.f, 3.f, 4.f});
  CHECK(value(constant(3, {.shape = {0, 2}})) == Array::zeros({0, 2}));
  CHECK(value(constant(3, {.shape = {1, 1}})) == Array{{3.f}});
  CHECK(value(constant({3}, {.shape = {}})) == Array(3.f));
  CHECK(value(constant({2.9, -2.9}, {.dtype = "int64"})) == Array({2, -2}).astype(DType::Int64));
  CHECK(constant(1, {.name = "one"}).name() == "one");
}

TEST_CASE("zeros and ones: variables, or tensors where the shape is computed", "[k]") {
  CHECK(is_variable(zeros({2})));
  CHECK(is_variable(ones({})));
  CHECK(get_value(ones({})) == Array(1.f));
  const Tensor x = of({None, 3});
  const Tensor filled = ones(shape(x)), wide = zeros({shape(x)[0], 2, 1}, {.dtype = "int32"});
  CHECK_FALSE(is_variable(filled));
  CHECK(int_shape(filled) == Sizes{{}, 3});
  CHECK(int_shape(wide) == Sizes{{}, 2, 1});
  const Function f = function({x}, {filled, wide}, {.backend = tested_backend()});
  for (const std::int64_t rows : {0, 1, 2}) {
    const auto results = f({Array::zeros({rows, 3})});
    CHECK(results[0] == Array::full({rows, 3}, 1, DType::Float32));
    CHECK(results[1] == Array::zeros({rows, 2, 1}, DType::Int32));
  }
}

TEST_CASE("eye: square or not", "[k]") {
  CHECK(get_value(eye(1)) == Array{{1.f}});
  CHECK(get_value(eye({2, 3})) == Array{{1.f, 0.f, 0.f}, {0.f, 1.f, 0.f}});
  CHECK(get_value(eye({3, 1})) == Array{{1.f}, {0.f}, {0.f}});
  CHECK(get_value(eye(0)) == Array::zeros({0, 0}));
  CHECK(is_variable(eye(2)));
}

TEST_CASE("placeholder: options and their errors", "[k]") {
  CHECK(int_shape(placeholder({.shape = {2, None}, .ndim = 5})) == Sizes{2, {}});
  CHECK(int_shape(placeholder({.ndim = 2})) == Sizes{{}, {}});
  CHECK(int_shape(placeholder({.shape = {}})).empty());
  CHECK(int_shape(placeholder({.ndim = 0})).empty());
  CHECK(dtype(placeholder({.shape = {1}, .dtype = "bool"})) == "bool");
  CHECK(is_placeholder(of({2})));
  CHECK_FALSE(is_placeholder(of({2}) + 1));
  CHECK_FALSE(is_placeholder(zeros({2})));
  CHECK_FALSE(is_placeholder(Tensor()));
  CHECK(is_placeholder(learning_phase()));
  for (const Tensor& x : {of({2}), zeros({2}), of({2}) + 1}) CHECK_FALSE(is_keras_tensor(x));
}

TEST_CASE("inspection: shapes, ranks and names of dtypes", "[k]") {
  const Tensor x = of({None, 3, 1}, "int64");
  CHECK(ndim(x) == 3);
  CHECK(ndim(sum(x)) == 0);
  CHECK(dtype(x) == "int64");
  CHECK(dtype(variable(Array(1.f))) == "float32");
  CHECK(int_shape(x) == Sizes{{}, 3, 1});
  CHECK(count_params(zeros({2, 3})) == 6);
  CHECK(count_params(zeros({})) == 1);
  CHECK(count_params(zeros({0, 3})) == 0);
  const Function f = function({x}, {shape(x), shape(x)[0], shape(x)[-1], shape(x).slice(1, {})},
                              {.backend = tested_backend()});
  const auto results = f({Array::zeros({5, 3, 1}, DType::Int64)});
  CHECK(results[0] == Array({5, 3, 1}).astype(DType::Int64));
  CHECK(results[1] == Array(5).astype(DType::Int64));
  CHECK(results[2] == Array(1).astype(DType::Int64));
  CHECK(results[3] == Array({3, 1}).astype(DType::Int64));
  CHECK(value(shape(zeros({}))) == Array::zeros({0}, DType::Int64));
}

TEST_CASE("zeros_like and ones_like: sizes of the call, and another dtype", "[k]") {
  const Tensor x = of({None, 2}, "int32");
  const Function f = function({x}, {zeros_like(x), ones_like(x, {.dtype = "float64"})},
                              {.backend = tested_backend()});
  for (const std::int64_t rows : {0, 1, 3}) {
    const auto results = f({Array::full({rows, 2}, 7, DType::Int32)});
    CHECK(results[0] == Array::zeros({rows, 2}, DType::Int32));
    CHECK(results[1] == Array::full({rows, 2}, 1, DType::Float64));
  }
  CHECK(zeros_like(x, {.name = "nothing"}).name() == "nothing");
  CHECK(identity(x, {.name = "same"}).name() == "same");
}

TEST_CASE("identity: of a variable it reads the value", "[k]") {
  const Variable x = variable({1., 2.});
  const Function f =
      function({}, {identity(x)}, {.updates = {update_add(x, 1)}, .backend = tested_backend()});
  CHECK(f({})[0] == Array{1.f, 2.f});
  CHECK(f({})[0] == Array{2.f, 3.f});
  CHECK(value(gradients(sum(square(identity(x))), {x})[0]) == Array{6.f, 8.f});
}

TEST_CASE("cast: truncates toward zero, saturates and compares with zero", "[k]") {
  const Tensor x = constant({-2.9, -0.5, 0., 0.5, 2.9, 300.}, {.dtype = "float64"});
  CHECK(value(cast(x, "int32")) == Array{-2, 0, 0, 0, 2, 300});
  CHECK(value(cast(x, "int8")) == Array({-2, 0, 0, 0, 2, 127}).astype(DType::Int8));
  CHECK(value(cast(x, "bool")) == bools({6}, {true, true, false, true, true, true}));
  const Tensor b = constant({true, false}, {.dtype = "bool"});
  CHECK(value(cast(b, "float32")) == Array{1.f, 0.f});
  CHECK(value(cast(b, "int64")) == Array({1, 0}).astype(DType::Int64));
  const Tensor w = constant({2., 3.});
  CHECK(dtype(gradients(sum(cast(w, "float64") * 3), {w})[0]) == "float32");
  CHECK(value(gradients(sum(cast(w, "float64") * 3), {w})[0]) == Array{3.f, 3.f});
}

TEST_CASE("random variables: distribution, seed and half-open bounds", "[k]") {
  const RandomVariableOptions options{.dtype = "float64", .seed = 3};
  const Array uniform = get_value(random_uniform_variable({200, 100}, -1, 3, options));
  CHECK(mean_of(uniform) == Approx(1).margin(0.03));
  CHECK(variance_of(uniform) == Approx(16. / 12).epsilon(0.03));
  const Array normal = get_value(random_normal_variable({200, 100}, 5, 2, options));
  CHECK(mean_of(normal) == Approx(5).margin(0.05));
  CHECK(variance_of(normal) == Approx(4).epsilon(0.04));
  CHECK(get_value(random_normal_variable({200, 100}, 5, 2, options)) == normal);
  CHECK_FALSE(get_value(random_normal_variable({2}, 0, 1)) ==
              get_value(random_normal_variable({2}, 0, 1)));
  for (const char* dtype : {"float16", "bfloat16", "float32", "float64"}) {
    INFO(dtype);
    const Array x = get_value(random_uniform_variable({20000}, 1, 2, {.dtype = dtype, .seed = 1}));
    const Array wide = x.astype(DType::Float64);
    for (const double element : wide.as<double>()) REQUIRE((element >= 1 && element < 2));
  }
  CHECK(get_value(random_uniform_variable({0, 2}, 0, 1)) == Array::zeros({0, 2}));
  CHECK(get_value(random_uniform_variable({2}, 4, 4)) == Array{4.f, 4.f});
}

TEST_CASE("random variables: the generator is SplitMix64", "[k]") {
  // The first outputs for this seed, as the authors' C code prints them.
  const RandomVariableOptions options{.dtype = "float64", .seed = 1234567};
  const auto uniform = [](std::uint64_t bits) { return static_cast<double>(bits >> 11) / 0x1p53; };
  CHECK(get_value(random_uniform_variable({3}, 0, 1, options)) ==
        Array{uniform(6457827717110365317), uniform(3203168211198807973),
              uniform(9817491932198370423u)});
}

TEST_CASE("random variables: the process-wide seed fixes them", "[k]") {
  set_random_seed(5);
  const Array first = get_value(random_uniform_variable({3}, 0, 1));
  const Array second = get_value(random_normal_variable({3}, 0, 1));
  set_random_seed(5);
  CHECK(get_value(random_uniform_variable({3}, 0, 1)) == first);
  CHECK(get_value(random_normal_variable({3}, 0, 1)) == second);
}

TEST_CASE("creation and inspection: misuse", "[k]") {
  const std::vector<Misuse> rows = {
      {throws<ValueError>(), [] { placeholder({.name = "x"}); },
       "placeholder: neither shape nor ndim is given"},
      {throws<ValueError>(), [] { placeholder({.shape = {2, -3}}); },
       "placeholder: shape[1] is -3"},
      {throws<ValueError>(), [] { placeholder({.ndim = -1}); }, "placeholder: ndim is -1"},
      {throws<ValueError>(), [] { placeholder({.shape = shape(of({2}))}); },
       "placeholder: shape is a tensor; use None for unknown sizes"},
      {throws<TypeError>(), [] { placeholder({.shape = {2}, .dtype = "float"}); },
       "placeholder: dtype 'float' is not known"},
      {throws<TypeError>(), [] { variable(Array(1), {.dtype = "int"}); },
       "variable: dtype 'int' is not known"},
      {throws<ValueError>(), [] { variable(unfed() + 1); },
       "variable: a result depends on a placeholder that is not fed (p float32[2], "
       "made at " __FILE__ ":" +
           std::to_string(kLine) + ")"},
      {throws<ValueError>(), [] { variable(Tensor()); }, "variable: value is an empty tensor"},
      {throws<TypeError>(), [] { constant(Array(1), {.dtype = "string"}); },
       "constant: dtype 'string' is not known"},
      {throws<ValueError>(), [] { constant({1, 2, 3}, {.shape = {2, 2}}); },
       "constant: shape [2,2] has 4 elements but value has 3"},
      {throws<ValueError>(), [] { constant(1, {.shape = {-2}}); }, "constant: shape[0] is -2"},
      {throws<ValueError>(), [] { constant(1, {.shape = {None}}); },
       "constant: shape[0] is None; a size is needed"},
      {throws<ValueError>(), [] { zeros({2, None}); }, "zeros: shape[1] is None; a size is needed"},
      {throws<ValueError>(), [] { ones({-1}); }, "ones: shape[0] is -1"},
      {throws<TypeError>(), [] { ones({1}, {.dtype = "f4"}); }, "ones: dtype 'f4' is not known"},
      {throws<ValueError>(), [] { eye(-1); }, "eye: size [-1,-1] is negative"},
      {throws<ValueError>(), [] { eye({2, -1}); }, "eye: size [2,-1] is negative"},
      {throws<ValueError>(), [] { count_params(of({None, 2})); },
       "count_params: x has an unknown size (x float32[p.0,2])"},
      {throws<ValueError>(), [] { int_shape(Tensor()); }, "int_shape: x is an empty tensor"},
      {throws<ValueError>(), [] { ndim(Tensor()); }, "ndim: x is an empty tensor"},
      {throws<ValueError>(), [] { dtype(Tensor()); }, "dtype: x is an empty tensor"},
      {throws<ValueError>(), [] { shape(Tensor()); }, "shape: x is an empty tensor"},
      {throws<ValueError>(), [] { is_keras_tensor(Tensor()); },
       "is_keras_tensor: x is an empty tensor"},
      {throws<TypeError>(), [] { cast(of({2}), "double"); }, "cast: dtype 'double' is not known"},
      {throws<ValueError>(), [] { identity(Tensor()); }, "identity: x is an empty tensor"},
      {throws<ValueError>(), [] { zeros_like(Tensor()); }, "zeros_like: x is an empty tensor"},
      {throws<TypeError>(), [] { ones_like(of({2}), {.dtype = "x"}); },
       "ones_like: dtype 'x' is not known"},
      {throws<TypeError>(), [] { random_normal_variable({2}, 0, 1, {.dtype = "int32"}); },
       "random_normal_variable: dtype int32 is not floating point"},
      {throws<ValueError>(), [] { zeros({std::int64_t{1} << 40, std::int64_t{1} << 40}); },
       "Array: dims [1099511627776,1099511627776] hold 2^63 elements or more"},
      {throws<ValueError>(), [] { eye(std::int64_t{1} << 40); },
       "Array: dims [1099511627776,1099511627776] hold 2^63 elements or more"},
      {throws<ValueError>(1),
       [] { random_normal_variable({std::int64_t{1} << 32, std::int64_t{1} << 32}, 0, 1); },
       "Array: dims [4294967296,4294967296] hold 2^63 elements or more"},
      {throws<ValueError>(1),
       [] { constant(1, {.shape = {std::int64_t{1} << 40, std::int64_t{1} << 40}}); },
       "constant: a dimension does not fit in 64 bits"},
      {throws<ValueError>(1),
       [] { count_params(of({std::int64_t{1} << 40, std::int64_t{1} << 40})); },
       "count_params: a dimension does not fit in 64 bits"},
      {throws<ValueError>(), [] { Variable().constraint(); },
       "constraint: variable is an empty tensor"},
      {throws<ValueError>(), [] { name_scope(""); }, "name_scope: name is empty"},
      {throws<ValueError>(), [] { count_params(Tensor()); }, "count_params: x is an empty tensor"},
      {throws<ValueError>(), [] { random_uniform_variable({2}, 3, 1); },
       "random_uniform_variable: low 3 is not at most high 1"},
      {throws<ValueError>(), [] { random_uniform_variable({2}, 0, std::nan("")); },
       "random_uniform_variable: low 0 is not at most high nan"},
      {throws<ValueError>(), [] { zeros(of({2})); },
       "zeros: shape is not an integer vector (shape float32[2])"},
      {throws<ValueError>(), [] { ones({2, of({1}, "int32")}); },
       "ones: shape holds a tensor that is not an integer scalar (shape int32[1])"},
      {throws<ValueError>(), [] { random_uniform_variable({None}, 0, 1); },
       "random_uniform_variable: shape[0] is None; a size is needed"},
  };
  run(rows);
}

}  // namespace kiln::test
