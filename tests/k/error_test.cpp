// Tests misuse of linear algebra, reductions, elementwise functions, activations, losses and
// operators: class, text and line of the error.
#include "tests/support/catch.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

namespace kiln::test {
namespace {

using testing::throws;

const std::vector<testing::Misuse> kErrorRows = {
    // operators
    {throws<ValueError>(), [] { return of({2, 3}) + of({4}); },
     "operator+: shapes do not broadcast: sizes 3 and 4 of axis -1 (x float32[2,3], y "
     "float32[4])"},
    {throws<ValueError>(), [] { return of({4}) - of({2, 3}); },
     "operator-: shapes do not broadcast: sizes 4 and 3 of axis -1 (x float32[4], y "
     "float32[2,3])"},
    {throws<TypeError>(), [] { return of({2}) * of({2}, "float64"); },
     "operator*: x has dtype float32 but y has dtype float64 (x float32[2], y float64[2])"},
    {throws<TypeError>(), [] { return of({2}, "int32") * 0.5; },
     "operator*: y 0.5 is floating point but the dtype is int32: write cast(x, "
     "\"float32\") or an integer"},
    {throws<TypeError>(), [] { return 0.5 / of({2}, "int64"); },
     "operator/: x 0.5 is floating point but the dtype is int64: write cast(y, "
     "\"float32\") or an integer"},
    {throws<TypeError>(), [] { return of({2}, "int32") < kInf; },
     "operator<: y inf is floating point but the dtype is int32: write cast(x, "
     "\"float32\") or an integer"},
    {throws<ValueError>(), [] { return of({2}, "int8") + 300; },
     "operator+: y 300 is outside the range of int8"},
    {throws<ValueError>(), [] { return of({2}, "uint8") - -1; },
     "operator-: y -1 is outside the range of uint8"},
    {throws<TypeError>(), [] { return of({2}, "bool") == 2; },
     "operator==: y 2 is not 0 or 1, as dtype bool requires"},
    {throws<TypeError>(), [] { return of({2}, "bool") + true; },
     "operator+: x is bool, not a number (x bool[2], y bool[])"},
    {throws<TypeError>(), [] { return -of({2}, "bool"); },
     "operator-: x is bool, not a number (x bool[2])"},
    {throws<ValueError>(), [] { return Tensor() > of({2}); }, "operator>: x is an empty tensor"},
    {throws<TypeError>(), [] { return of({2}, "uint8") / 255.0; },
     "operator/: y 255 is floating point but the dtype is uint8: write cast(x, \"float32\") or an "
     "integer"},
    {throws<TypeError>(), [] { return of({2}, "bool") == 1.0; },
     "operator==: y 1 is floating point but the dtype is bool: write cast(x, \"float32\") or an "
     "integer"},
    {throws<TypeError>(), [] { return of({2}) && of({2}, "bool"); },
     "operator&&: x is not bool; not_equal(x, 0) tells where it is not 0 (x float32[2])"},
    {throws<TypeError>(), [] { return of({2}, "bool") || of({2}, "int32"); },
     "operator||: y is not bool; not_equal(y, 0) tells where it is not 0 (y int32[2])"},
    {throws<TypeError>(), [] { return !(of({2}) + 1); },
     "operator!: x is not bool; not_equal(x, 0) tells where it is not 0 (x float32[2])"},
    {throws<ValueError>(), [] { return of({2}, "bool") && of({3}, "bool"); },
     "operator&&: shapes do not broadcast: sizes 2 and 3 of axis -1 (x bool[2], y bool[3])"},
    {throws<ValueError>(), [] { return of({2, 3})[2]; },
     "operator[]: index 2 is out of range (x float32[2,3])"},
    {throws<ValueError>(), [] { return of({2, 3})[-3]; },
     "operator[]: index -3 is out of range (x float32[2,3])"},
    {throws<ValueError>(), [] { return of({})[0]; }, "operator[]: x is a scalar (x float32[])"},
    {throws<ValueError>(), [] { return of({}).slice(0, 1); }, "slice: x is a scalar (x float32[])"},
    // elementwise
    {throws<TypeError>(), [] { return exp(of({2}, "int32")); },
     "exp: x is not floating point (x int32[2])"},
    {throws<TypeError>(), [] { return log(of({2}, "bool")); },
     "log: x is not floating point (x bool[2])"},
    {throws<TypeError>(), [] { return sqrt(of({2}, "int64")); },
     "sqrt: x is not floating point (x int64[2])"},
    {throws<TypeError>(), [] { return sin(of({}, "uint8")); },
     "sin: x is not floating point (x uint8[])"},
    {throws<TypeError>(), [] { return cos(of({}, "int8")); },
     "cos: x is not floating point (x int8[])"},
    {throws<TypeError>(), [] { return square(of({2}, "bool")); },
     "square: x is bool, not a number (x bool[2])"},
    {throws<TypeError>(), [] { return abs(of({2}, "bool")); },
     "abs: x is bool, not a number (x bool[2])"},
    {throws<TypeError>(), [] { return sign(of({2}, "bool")); },
     "sign: x is bool, not a number (x bool[2])"},
    {throws<TypeError>(), [] { return round(of({2}, "bool")); },
     "round: x is bool, not a number (x bool[2])"},
    {throws<TypeError>(), [] { return pow(of({2}, "int32"), 0.5); },
     "pow: a 0.5 is floating point but the dtype is int32: write cast(x, \"float32\") or "
     "an integer"},
    {throws<TypeError>(), [] { return pow(of({2}), of({2}, "int32")); },
     "pow: x has dtype float32 but a has dtype int32 (x float32[2], a int32[2])"},
    {throws<ValueError>(), [] { return pow(of({2}), of({3})); },
     "pow: shapes do not broadcast: sizes 2 and 3 of axis -1 (x float32[2], a float32[3])"},
    {throws<TypeError>(), [] { return clip(of({2}, "int32"), 0.5, None); },
     "clip: min_value 0.5 is floating point but the dtype is int32: write cast(x, "
     "\"float32\") or an integer"},
    {throws<TypeError>(), [] { return clip(of({2}), None, of({2}, "int32")); },
     "clip: x has dtype float32 but max_value has dtype int32 (x float32[2], max_value "
     "int32[2])"},
    {throws<ValueError>(), [] { return clip(of({2}), of({3}), None); },
     "clip: shapes do not broadcast: sizes 2 and 3 of axis -1 (x float32[2], min_value "
     "float32[3])"},
    {throws<ValueError>(), [] { return equal(of({2}), of({3})); },
     "equal: shapes do not broadcast: sizes 2 and 3 of axis -1 (x float32[2], y float32[3])"},
    {throws<TypeError>(), [] { return not_equal(of({2}), of({2}, "int32")); },
     "not_equal: x has dtype float32 but y has dtype int32 (x float32[2], y int32[2])"},
    {throws<ValueError>(), [] { return greater(of({2}), of({3})); },
     "greater: shapes do not broadcast: sizes 2 and 3 of axis -1 (x float32[2], y float32[3])"},
    {throws<ValueError>(), [] { return greater_equal(of({2}), of({3})); },
     "greater_equal: shapes do not broadcast: sizes 2 and 3 of axis -1 (x float32[2], y "
     "float32[3])"},
    {throws<TypeError>(), [] { return less(of({2}, "int32"), 1.5); },
     "less: y 1.5 is floating point but the dtype is int32: write cast(x, \"float32\") or "
     "an integer"},
    {throws<ValueError>(), [] { return less_equal(of({2, 2}), of({3, 2})); },
     "less_equal: shapes do not broadcast: sizes 2 and 3 of axis -2 (x float32[2,2], y "
     "float32[3,2])"},
    {throws<TypeError>(), [] { return logical_and(of({2}, "bool"), 2); },
     "logical_and: y 2 is not 0 or 1, as dtype bool requires"},
    {throws<TypeError>(), [] { return logical_or(of({2}, "bool"), 1.0); },
     "logical_or: y 1 is floating point but the dtype is bool: write cast(x, \"float32\") or an "
     "integer"},
    {throws<TypeError>(), [] { return logical_xor(of({2}, "uint8"), true); },
     "logical_xor: x is not bool; not_equal(x, 0) tells where it is not 0 (x uint8[2])"},
    {throws<TypeError>(), [] { return logical_not(of({}, "int64")); },
     "logical_not: x is not bool; not_equal(x, 0) tells where it is not 0 (x int64[])"},
    {throws<TypeError>(), [] { return maximum(of({2}, "int32"), 2.0); },
     "maximum: y 2 is floating point but the dtype is int32: write cast(x, \"float32\") or an "
     "integer"},
    {throws<ValueError>(), [] { return maximum(of({2}), Tensor()); },
     "maximum: y is an empty tensor"},
    {throws<TypeError>(), [] { return minimum(of({2}, "bool"), of({2}, "bool")); },
     "minimum: x is bool, not a number (x bool[2], y bool[2])"},
    // reductions
    {throws<ValueError>(), [] { return max(of({2, 3}), {.axis = 2}); },
     "max: axis 2 is out of range for rank 2"},
    {throws<ValueError>(), [] { return min(of({2, 3}), {.axis = -3}); },
     "min: axis -3 is out of range for rank 2"},
    {throws<ValueError>(), [] { return sum(of({2, 3}), {.axis = {1, -1}}); },
     "sum: axis (1, -1) repeats an axis"},
    {throws<TypeError>(), [] { return sum(of({2}, "bool")); },
     "sum: x is bool, not a number (x bool[2])"},
    {throws<TypeError>(), [] { return prod(of({2}, "bool")); },
     "prod: x is bool, not a number (x bool[2])"},
    {throws<ValueError>(), [] { return prod(Tensors()); }, "prod: x is empty"},
    {throws<ValueError>(), [] { return mean(of({}), {.axis = 0}); },
     "mean: axis 0 is out of range for rank 0"},
    {throws<ValueError>(), [] { return var(Tensor()); }, "var: x is an empty tensor"},
    {throws<ValueError>(), [] { return std(of({2}), {.axis = 1}); },
     "std: axis 1 is out of range for rank 1"},
    {throws<ValueError>(), [] { return any(of({2}), {.axis = 1}); },
     "any: axis 1 is out of range for rank 1"},
    {throws<ValueError>(), [] { return all(of({2}), {.axis = {0, 0}}); },
     "all: axis (0, 0) repeats an axis"},
    {throws<ValueError>(), [] { return argmax(of({2, 3}), {.axis = std::int64_t{1} << 32}); },
     "argmax: axis 4294967296 is out of range for rank 2"},
    {throws<ValueError>(), [] { return argmax(of({})); },
     "argmax: axis -1 is out of range for rank 0"},
    {throws<ValueError>(), [] { return argmin(of({2, 0})); },
     "argmin: axis 1 has no elements (float32[2,0])"},
    {throws<TypeError>(), [] { return cumsum(of({2}, "bool")); },
     "cumsum: x is bool, not a number (x bool[2])"},
    {throws<ValueError>(), [] { return cumprod(of({2}), {.axis = 1}); },
     "cumprod: axis 1 is out of range for rank 1"},
    {throws<TypeError>(), [] { return logsumexp(of({2}, "int32")); },
     "logsumexp: x is not floating point (x int32[2])"},
    // matmuls and lookups
    {throws<ValueError>(), [] { return dot(of({2, 3}), of({4, 5})); },
     "dot: axis 1 of x has size 3 but axis 0 of y has size 4 (x float32[2,3], y float32[4,5])"},
    {throws<ValueError>(), [] { return dot(of({3}), of({2, 4, 5})); },
     "dot: axis 0 of x has size 3 but axis 1 of y has size 4 (x float32[3], y float32[2,4,5])"},
    {throws<TypeError>(), [] { return dot(of({2, 3}), of({3, 2}, "float64")); },
     "dot: x has dtype float32 but y has dtype float64 (x float32[2,3], y float64[3,2])"},
    {throws<TypeError>(), [] { return dot(of({2}, "bool"), of({2}, "bool")); },
     "dot: x is bool, not a number (x bool[2], y bool[2])"},
    {throws<ValueError>(), [] { return batch_dot(of({2}), of({2, 3})); },
     "batch_dot: operands need a rank of 2 or more (x float32[2], y float32[2,3])"},
    {throws<ValueError>(), [] { return batch_dot(of({2, 3}), of({4, 3}), {.axes = 1}); },
     "batch_dot: axis 0 of x has size 2 but axis 0 of y has size 4 (x float32[2,3], y "
     "float32[4,3])"},
    {throws<ValueError>(), [] { return batch_dot(of({2, 3}), of({2, 4}), {.axes = 1}); },
     "batch_dot: axis 1 of x has size 3 but axis 1 of y has size 4 (x float32[2,3], y "
     "float32[2,4])"},
    {throws<ValueError>(), [] { return batch_dot(of({2, 3}), of({2, 3}), {.axes = 0}); },
     "batch_dot: axes (0) name the batch axis 0 (x float32[2,3], y float32[2,3])"},
    {throws<ValueError>(), [] { return batch_dot(of({2, 3}), of({2, 3}), {.axes = {1, -2}}); },
     "batch_dot: axes (1, -2) name the batch axis 0 (x float32[2,3], y float32[2,3])"},
    {throws<ValueError>(), [] { return batch_dot(of({2, 3}), of({2, 3}), {.axes = {1, 2}}); },
     "batch_dot: axes 2 is out of range for rank 2"},
    {throws<ValueError>(), [] { return batch_dot(of({2, 3}), of({2, 3}), {.axes = {1, 1, 1}}); },
     "batch_dot: axes (1, 1, 1) are not one axis of each operand (x float32[2,3], y "
     "float32[2,3])"},
    {throws<ValueError>(), [] { return transpose(Tensor()); }, "transpose: x is an empty tensor"},
    {throws<TypeError>(), [] { return gather(of({2, 3}), of({2})); },
     "gather: indices are not integers (indices float32[2])"},
    {throws<TypeError>(), [] { return gather(of({2, 3}), 0.5); },
     "gather: indices are not integers (indices float32[])"},
    {throws<ValueError>(), [] { return gather(of({}), of({2}, "int32")); },
     "gather: reference is a scalar (reference float32[])"},
    // activations
    {throws<TypeError>(), [] { return relu(of({2}, "bool")); },
     "relu: x is bool, not a number (x bool[2])"},
    {throws<TypeError>(), [] { return relu(of({2}, "int32"), {.alpha = 0.1}); },
     "relu: alpha 0.1 is floating point but the dtype is int32: write cast(x, "
     "\"float32\") or an integer"},
    {throws<TypeError>(), [] { return relu(of({2}, "int32"), {.max_value = 1.5}); },
     "relu: max_value 1.5 is floating point but the dtype is int32: write cast(x, "
     "\"float32\") or an integer"},
    {throws<TypeError>(), [] { return elu(of({2}, "int32")); },
     "elu: x is not floating point (x int32[2])"},
    {throws<TypeError>(), [] { return softmax(of({2}, "int32")); },
     "softmax: x is not floating point (x int32[2])"},
    {throws<ValueError>(), [] { return softmax(of({})); },
     "softmax: axis -1 is out of range for rank 0"},
    {throws<TypeError>(), [] { return softplus(of({2}, "int32")); },
     "softplus: x is not floating point (x int32[2])"},
    {throws<TypeError>(), [] { return softsign(of({2}, "int32")); },
     "softsign: x is not floating point (x int32[2])"},
    {throws<TypeError>(), [] { return sigmoid(of({2}, "int32")); },
     "sigmoid: x is not floating point (x int32[2])"},
    {throws<TypeError>(), [] { return tanh(of({2}, "int32")); },
     "tanh: x is not floating point (x int32[2])"},
    {throws<TypeError>(), [] { return hard_sigmoid(of({2}, "int32")); },
     "hard_sigmoid: x is not floating point (x int32[2])"},
    {throws<ValueError>(), [] { return l2_normalize(of({2}), {.axis = 1}); },
     "l2_normalize: axis 1 is out of range for rank 1"},
    // losses
    {throws<ValueError>(), [] { return categorical_crossentropy(of({2, 3}), of({2, 4})); },
     "categorical_crossentropy: target and output have different shapes (target float32[2,3], "
     "output float32[2,4])"},
    {throws<ValueError>(), [] { return categorical_crossentropy(of({3}), of({2, 3})); },
     "categorical_crossentropy: target and output have different shapes (target float32[3], "
     "output float32[2,3])"},
    {throws<ValueError>(), [] { return categorical_crossentropy(of({3}), of({3}), {.axis = 1}); },
     "categorical_crossentropy: axis 1 is out of range for rank 1"},
    {throws<TypeError>(), [] { return categorical_crossentropy(of({2, 3}, "int32"), of({2, 3})); },
     "categorical_crossentropy: target has dtype int32 but output has dtype float32 (target "
     "int32[2,3], output float32[2,3])"},
    {throws<TypeError>(1),
     [] { return categorical_crossentropy(of({2}, "int32"), of({2}, "int32")); },
     "categorical_crossentropy: output is not floating point (output int32[2])"},
    {throws<ValueError>(), [] { return sparse_categorical_crossentropy(of({3}), of({2, 3})); },
     "sparse_categorical_crossentropy: target has 3 elements, not one for each of 2 positions "
     "(target float32[3], output float32[2,3])"},
    {throws<ValueError>(1),
     [] { return sparse_categorical_crossentropy(of({2}), of({2, 3}), {.axis = 2}); },
     "sparse_categorical_crossentropy: axis 2 is out of range for rank 2"},
    {throws<TypeError>(1),
     [] { return sparse_categorical_crossentropy(of({2}), of({2, 3}, "int32")); },
     "sparse_categorical_crossentropy: output is not floating point (output int32[2,3])"},
    {throws<ValueError>(), [] { return binary_crossentropy(of({2}), of({3})); },
     "binary_crossentropy: shapes do not broadcast: sizes 2 and 3 of axis -1 (target "
     "float32[2], output float32[3])"},
    {throws<TypeError>(), [] { return binary_crossentropy(of({2}), of({2}, "float64")); },
     "binary_crossentropy: target has dtype float32 but output has dtype float64 (target "
     "float32[2], output float64[2])"},
    {throws<TypeError>(), [] { return in_top_k(of({2, 3}), of({2}), 1); },
     "in_top_k: targets are not integers (predictions float32[2,3], targets float32[2])"},
    {throws<ValueError>(), [] { return in_top_k(of({2, 3}), of({2, 1}, "int32"), 1); },
     "in_top_k: ranks are not 2 and 1 (predictions float32[2,3], targets int32[2,1])"},
    {throws<ValueError>(), [] { return in_top_k(of({2, 3}), of({3}, "int32"), 1); },
     "in_top_k: batch sizes differ (predictions float32[2,3], targets int32[3])"},
};

}  // namespace

TEST_CASE("K functions: errors, word for word", "[k]") { testing::run(kErrorRows); }

}  // namespace kiln::test
