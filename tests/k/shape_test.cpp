// Tests movement (kiln/shape_ops.h). Expected values are those of NumPy 2.4's function of that
// meaning (reshape, transpose, concatenate, repeat, tile, flip).
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

namespace kiln::test {
namespace {

using testing::error_text;
using testing::throws;
using testing::Misuse;

const Array& m23() {
  static const Array array = counted({2, 3});
  return array;
}
using Sizes = std::vector<std::int64_t>;
Array none(std::vector<std::int64_t> dims) { return Array::zeros(std::move(dims)); }

std::vector<Row> movement() {
  return {
      {"reshape",
       {m23()},
       [](const Tensors& x) { return reshape(x[0], {3, 2}); },
       f32({3, 2}, {0, 1, 2, 3, 4, 5})},
      {"reshape free",
       {m23()},
       [](const Tensors& x) { return reshape(x[0], {3, -1, 1}); },
       f32({3, 2, 1}, {0, 1, 2, 3, 4, 5})},
      {"reshape by entries of a shape",
       {m23()},
       [](const Tensors& x) { return reshape(x[0], {shape(x[0])[1], -1}); },
       f32({3, 2}, {0, 1, 2, 3, 4, 5})},
      {"reshape by a shape",
       {m23(), none({3, 2})},
       [](const Tensors& x) { return reshape(x[0], shape(x[1])); },
       f32({3, 2}, {0, 1, 2, 3, 4, 5})},
      {"reshape by a constant with a free entry",
       {m23()},
       [](const Tensors& x) {
         return reshape(x[0], constant(i32({2}, {-1, 2}), {.dtype = "int32"}));
       },
       counted({3, 2})},
      {"reshape by arithmetic on sizes",
       {counted({2, 3, 2})},
       [](const Tensors& x) {
         const Tensor size = shape(x[0]);
         return reshape(x[0], {size[0] * size[1], size[2], 1});
       },
       counted({6, 2, 1})},
      {"reshape a scalar",
       {f32({}, {7})},
       [](const Tensors& x) { return reshape(x[0], {1, -1}); },
       f32({1, 1}, {7})},
      {"reshape bools",
       {bools({2, 1}, {true, false})},
       [](const Tensors& x) { return reshape(x[0], {2}); },
       bools({2}, {true, false})},
      {"reshape to a scalar",
       {f32({1, 1}, {7})},
       [](const Tensors& x) { return reshape(x[0], {}); },
       f32({}, {7})},
      {"reshape nothing",
       {none({0, 3})},
       [](const Tensors& x) { return reshape(x[0], {3, 0, 2}); },
       none({3, 0, 2})},
      {"permute_dimensions",
       {counted({2, 1, 3})},
       [](const Tensors& x) { return permute_dimensions(x[0], {2, 0, 1}); },
       f32({3, 2, 1}, {0, 3, 1, 4, 2, 5})},
      {"permute_dimensions of a scalar",
       {f32({}, {7})},
       [](const Tensors& x) { return permute_dimensions(x[0], {}); },
       f32({}, {7})},
      {"permute_dimensions of nothing",
       {none({2, 0, 3})},
       [](const Tensors& x) { return permute_dimensions(x[0], {1, 2, 0}); },
       none({0, 3, 2})},
      {"permute_dimensions negative",
       {m23()},
       [](const Tensors& x) { return permute_dimensions(x[0], {-1, -2}); },
       f32({3, 2}, {0, 3, 1, 4, 2, 5})},
      {"concatenate",
       {m23(), f32({2, 1}, {8, 9})},
       [](const Tensors& x) { return concatenate({x[0], x[1]}); },
       f32({2, 4}, {0, 1, 2, 8, 3, 4, 5, 9})},
      {"concatenate axis",
       {m23(), none({0, 3}), f32({1, 3}, {7, 8, 9})},
       [](const Tensors& x) { return concatenate({x[0], x[1], x[2]}, {.axis = -2}); },
       f32({3, 3}, {0, 1, 2, 3, 4, 5, 7, 8, 9})},
      {"concatenate nothing",
       {none({2, 0}), none({2, 0})},
       [](const Tensors& x) { return concatenate({x[0], x[1]}); },
       none({2, 0})},
      {"concatenate integers",
       {i32({1}, {1}), i32({2}, {2, 3})},
       [](const Tensors& x) { return concatenate({x[0], x[1]}, {.axis = 0}); },
       i32({3}, {1, 2, 3})},
      {"concatenate one", {m23()}, [](const Tensors& x) { return concatenate({x[0]}); }, m23()},
      {"stack",
       {f32({2}, {1, 2}), f32({2}, {3, 4})},
       [](const Tensors& x) { return stack({x[0], x[1]}); },
       f32({2, 2}, {1, 2, 3, 4})},
      {"stack last",
       {f32({2}, {1, 2}), f32({2}, {3, 4})},
       [](const Tensors& x) { return stack({x[0], x[1]}, {.axis = -1}); },
       f32({2, 2}, {1, 3, 2, 4})},
      {"stack in the middle",
       {m23(), m23()},
       [](const Tensors& x) { return stack({x[0], x[1]}, {.axis = 1}); },
       f32({2, 2, 3}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5})},
      {"stack one",
       {bools({2}, {true, false})},
       [](const Tensors& x) { return stack({x[0]}); },
       bools({1, 2}, {true, false})},
      {"stack nothing",
       {none({0}), none({0})},
       [](const Tensors& x) { return stack({x[0], x[1]}, {.axis = -2}); },
       none({2, 0})},
      {"stack scalars",
       {f32({}, {1}), f32({}, {2})},
       [](const Tensors& x) { return stack({x[0], x[1]}); },
       f32({2}, {1, 2})},
      {"expand_dims",
       {m23()},
       [](const Tensors& x) { return expand_dims(x[0]); },
       counted({2, 3, 1})},
      {"expand_dims of a scalar",
       {f32({}, {7})},
       [](const Tensors& x) { return expand_dims(x[0], {.axis = -1}); },
       f32({1}, {7})},
      {"expand_dims of nothing",
       {none({0})},
       [](const Tensors& x) { return expand_dims(x[0], {.axis = -2}); },
       none({1, 0})},
      {"expand_dims axis",
       {m23()},
       [](const Tensors& x) { return expand_dims(x[0], {.axis = -2}); },
       counted({2, 1, 3})},
      {"expand_dims first",
       {m23()},
       [](const Tensors& x) { return expand_dims(x[0], {.axis = 0}); },
       counted({1, 2, 3})},
      {"squeeze", {counted({2, 1, 3})}, [](const Tensors& x) { return squeeze(x[0], 1); }, m23()},
      {"squeeze negative",
       {counted({2, 3, 1})},
       [](const Tensors& x) { return squeeze(x[0], -1); },
       m23()},
      {"squeeze to a scalar",
       {f32({1}, {3})},
       [](const Tensors& x) { return squeeze(x[0], 0); },
       f32({}, {3})},
      {"squeeze nothing",
       {none({1, 0})},
       [](const Tensors& x) { return squeeze(x[0], -2); },
       none({0})},
      {"flatten nothing",
       {none({2, 0})},
       [](const Tensors& x) { return flatten(x[0]); },
       none({0})},
      {"flatten", {m23()}, [](const Tensors& x) { return flatten(x[0]); }, counted({6})},
      {"flatten a scalar",
       {f32({}, {4})},
       [](const Tensors& x) { return flatten(x[0]); },
       f32({1}, {4})},
      {"batch_flatten",
       {counted({2, 3, 2})},
       [](const Tensors& x) { return batch_flatten(x[0]); },
       counted({2, 6})},
      {"batch_flatten a vector",
       {counted({3})},
       [](const Tensors& x) { return batch_flatten(x[0]); },
       counted({3, 1})},
      {"batch_flatten nothing",
       {none({0, 3, 2})},
       [](const Tensors& x) { return batch_flatten(x[0]); },
       none({0, 6})},
      {"repeat_elements",
       {m23()},
       [](const Tensors& x) { return repeat_elements(x[0], 2, 1); },
       f32({2, 6}, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5})},
      {"repeat_elements first axis",
       {m23()},
       [](const Tensors& x) { return repeat_elements(x[0], 2, -2); },
       f32({4, 3}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5})},
      {"repeat_elements once",
       {m23()},
       [](const Tensors& x) { return repeat_elements(x[0], 1, 0); },
       m23()},
      {"repeat_elements never",
       {m23()},
       [](const Tensors& x) { return repeat_elements(x[0], 0, 0); },
       none({0, 3})},
      {"repeat_elements of nothing",
       {none({2, 0})},
       [](const Tensors& x) { return repeat_elements(x[0], 3, 0); },
       none({6, 0})},
      {"repeat_elements bools",
       {bools({2}, {true, false})},
       [](const Tensors& x) { return repeat_elements(x[0], 2, -1); },
       bools({4}, {true, true, false, false})},
      {"repeat no samples",
       {none({0, 2})},
       [](const Tensors& x) { return repeat(x[0], 2); },
       none({0, 2, 2})},
      {"repeat",
       {f32({2, 2}, {1, 2, 3, 4})},
       [](const Tensors& x) { return repeat(x[0], 3); },
       f32({2, 3, 2}, {1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4})},
      {"repeat never", {m23()}, [](const Tensors& x) { return repeat(x[0], 0); }, none({2, 0, 3})},
      {"tile",
       {m23()},
       [](const Tensors& x) { return tile(x[0], {2, 2}); },
       f32({4, 6}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5})},
      {"tile number",
       {m23()},
       [](const Tensors& x) { return tile(x[0], 2); },
       f32({2, 6}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5})},
      {"tile shorter",
       {counted({2, 2, 1})},
       [](const Tensors& x) { return tile(x[0], {2, 3}); },
       f32({2, 4, 3}, {0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 2, 2, 2, 3, 3, 3})},
      {"tile by nothing", {m23()}, [](const Tensors& x) { return tile(x[0], Sizes{}); }, m23()},
      {"tile by an empty list", {m23()}, [](const Tensors& x) { return tile(x[0], {}); }, m23()},
      {"tile a scalar by an empty list",
       {f32({}, {3})},
       [](const Tensors& x) { return tile(x[0], {}); },
       f32({}, {3})},
      {"tile integers",
       {i32({1, 2}, {1, 2})},
       [](const Tensors& x) { return tile(x[0], {2, 1}); },
       i32({2, 2}, {1, 2, 1, 2})},
      {"tile nothing",
       {none({0, 2})},
       [](const Tensors& x) { return tile(x[0], 3); },
       none({0, 6})},
      {"tile dims",
       {m23()},
       [](const Tensors& x) { return tile(x[0], {shape(x[0])[0], 2}); },
       f32({4, 6}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5})},
      {"tile dims that are computed",
       {m23()},
       [](const Tensors& x) { return tile(x[0], {1, shape(x[0])[1] - shape(x[0])[0] + 1}); },
       f32({2, 6}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5})},
      {"tile a tensor",
       {m23()},
       [](const Tensors& x) { return tile(x[0], constant({2, 1}, {.dtype = "int32"})); },
       f32({4, 3}, {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5})},
      {"tile the shape of another",
       {counted({1, 2}), m23()},
       [](const Tensors& x) { return tile(x[0], shape(x[1])); },
       f32({2, 6}, {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1})},
      {"tile a scalar tensor",
       {m23()},
       [](const Tensors& x) { return tile(x[0], shape(x[0])[0]); },
       f32({2, 6}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5})},
      {"tile sizes in a vector",
       {m23()},
       [](const Tensors& x) { return tile(x[0], Sizes{2, 1}); },
       f32({4, 3}, {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5})},
      {"tile never", {m23()}, [](const Tensors& x) { return tile(x[0], {0, 2}); }, none({0, 6})},
      {"reverse",
       {m23()},
       [](const Tensors& x) { return reverse(x[0], 1); },
       f32({2, 3}, {2, 1, 0, 5, 4, 3})},
      {"reverse axes",
       {m23()},
       [](const Tensors& x) { return reverse(x[0], {0, -1}); },
       f32({2, 3}, {5, 4, 3, 2, 1, 0})},
      {"reverse every axis",
       {m23()},
       [](const Tensors& x) { return reverse(x[0], None); },
       f32({2, 3}, {5, 4, 3, 2, 1, 0})},
      {"reverse no axis", {m23()}, [](const Tensors& x) { return reverse(x[0], Sizes{}); }, m23()},
      {"reverse an empty list", {m23()}, [](const Tensors& x) { return reverse(x[0], {}); }, m23()},
      {"reverse bools",
       {bools({3}, {true, false, false})},
       [](const Tensors& x) { return reverse(x[0], {-1}); },
       bools({3}, {false, false, true})},
      {"reverse nothing",
       {none({0, 3})},
       [](const Tensors& x) { return reverse(x[0], 0); },
       none({0, 3})},
      {"pattern_broadcast",
       {counted({1, 3}), m23()},
       [](const Tensors& x) { return pattern_broadcast(x[0], {true, false}) + x[1]; },
       f32({2, 3}, {0, 2, 4, 3, 5, 7})},
      {"pattern_broadcast a scalar",
       {f32({}, {2})},
       [](const Tensors& x) { return pattern_broadcast(x[0], {}); },
       f32({}, {2})},
      {"pattern_broadcast nothing marked",
       {m23()},
       [](const Tensors& x) { return pattern_broadcast(x[0], {false, false}); },
       m23()},
  };
}

const SmoothRow kSmooth[] = {
    {"reshape", {{2, 3}}, [](const Tensors& x) { return square(reshape(x[0], {3, -1})); }},
    {"permute_dimensions",
     {{2, 3, 2}},
     [](const Tensors& x) { return square(permute_dimensions(x[0], {1, 2, 0})); }},
    {"concatenate",
     {{2, 3}, {2, 1}},
     [](const Tensors& x) { return square(concatenate({x[0], x[1], x[0]})); }},
    {"stack",
     {{2}, {2}},
     [](const Tensors& x) { return square(stack({x[0], x[1]}, {.axis = 1})); }},
    {"expand_dims and squeeze",
     {{2, 3}},
     [](const Tensors& x) { return square(squeeze(expand_dims(x[0], {.axis = 1}), 1)); }},
    {"flatten", {{2, 3}}, [](const Tensors& x) { return square(flatten(x[0])); }},
    {"batch_flatten", {{2, 3, 2}}, [](const Tensors& x) { return square(batch_flatten(x[0])); }},
    {"repeat_elements",
     {{2, 3}},
     [](const Tensors& x) { return square(repeat_elements(x[0], 3, 0)); }},
    {"repeat", {{2, 3}}, [](const Tensors& x) { return square(repeat(x[0], 2)); }},
    {"tile", {{2, 3}}, [](const Tensors& x) { return square(tile(x[0], {2, 3})); }},
    {"tile dims",
     {{2, 3}},
     [](const Tensors& x) { return square(tile(x[0], {shape(x[0])[1], 2})); }},
    {"reverse", {{2, 3}}, [](const Tensors& x) { return square(reverse(x[0], {0, 1})); }},
    {"pattern_broadcast",
     {{1, 3}},
     [](const Tensors& x) { return square(pattern_broadcast(x[0], {true, false})); }},
};

Tensor of(const Shape& shape, const char* dtype = "float32") {
  return placeholder({.shape = shape, .dtype = dtype, .name = "p"});
}

const std::vector<Misuse> kErrors = {
    {throws<ValueError>(), [] { return reshape(of({2, 3}), {None, 2}); },
     "reshape: shape holds None; use -1 for an inferred size"},
    {throws<ValueError>(), [] { return reshape(of({2, 3}), {-1, -1}); },
     "reshape: shape has more than one -1: [-1,-1]"},
    {throws<ValueError>(), [] { return reshape(of({2, 3}), {-2, 3}); },
     "reshape: size -2 is negative (x float32[2,3])"},
    {throws<ValueError>(), [] { return reshape(of({2, 3}), {5}); },
     "reshape: cannot reshape to [5]: 6 elements are not 5 (x float32[2,3])"},
    {throws<ValueError>(), [] { return reshape(of({2, 3}), {4, -1}); },
     "reshape: cannot reshape to [4,-1]: 6 elements are not a multiple of 4 (x float32[2,3])"},
    {throws<ValueError>(), [] { return reshape(of({0, 3}), {0, -1}); },
     "reshape: a size of -1 is ambiguous if another size is 0 (x float32[0,3])"},
    {throws<ValueError>(), [] { return reshape(of({2}), of({None}, "int32")); },
     "reshape: shape has an unknown number of entries (shape int32[p.0])"},
    {throws<ValueError>(), [] { return reshape(of({2}), of({2})); },
     "reshape: shape is not an integer vector (shape float32[2])"},
    {throws<ValueError>(), [] { return reshape(of({2}), of({}, "int32")); },
     "reshape: shape is not an integer vector (shape int32[])"},
    {throws<ValueError>(), [] { return reshape(of({2}), {of({1}, "int32")}); },
     "reshape: shape holds a tensor that is not an integer scalar (shape int32[1])"},
    {throws<ValueError>(), [] { return permute_dimensions(of({2, 3}), {0}); },
     "permute_dimensions: pattern (0) is not a permutation of the axes (x float32[2,3])"},
    {throws<ValueError>(), [] { return permute_dimensions(of({2, 3}), {0, 0}); },
     "permute_dimensions: pattern (0, 0) is not a permutation of the axes (x float32[2,3])"},
    {throws<ValueError>(), [] { return permute_dimensions(of({2, 3}), {0, 2}); },
     "permute_dimensions: pattern 2 is out of range for rank 2"},
    {throws<ValueError>(), [] { return concatenate({}, {}); }, "concatenate: tensors is empty"},
    {throws<ValueError>(), [] { return concatenate({of({2, 3}), of({3, 3})}, {.axis = 1}); },
     "concatenate: tensors differ on axis 0, along which they are not concatenated "
     "(float32[2,3], float32[3,3])"},
    {throws<TypeError>(), [] { return concatenate({of({2}), of({2}, "int32")}, {}); },
     "concatenate: tensors have different dtypes (float32[2], int32[2])"},
    {throws<ValueError>(), [] { return concatenate({of({2}), of({2, 1})}, {}); },
     "concatenate: tensors have different ranks (float32[2], float32[2,1])"},
    {throws<ValueError>(), [] { return concatenate({of({}), of({})}, {}); },
     "concatenate: axis -1 is out of range for rank 0"},
    {throws<ValueError>(), [] { return concatenate({of({2}), of({2})}, {.axis = -2}); },
     "concatenate: axis -2 is out of range for rank 1"},
    {throws<ValueError>(), [] { return concatenate({of({2}), Tensor()}, {}); },
     "concatenate: tensors[1] is an empty tensor"},
    {throws<ValueError>(), [] { return stack({}, {}); }, "stack: x is empty"},
    {throws<ValueError>(), [] { return stack({of({2}), of({3})}, {}); },
     "stack: x[0] and x[1] have different shapes (x[0] float32[2], x[1] float32[3])"},
    {throws<TypeError>(), [] { return stack({of({2}), of({2}, "int32")}, {}); },
     "stack: x[0] and x[1] have different dtypes (x[0] float32[2], x[1] int32[2])"},
    {throws<ValueError>(), [] { return stack({of({2}), of({2})}, {.axis = 2}); },
     "stack: axis 2 is out of range for rank 2"},
    {throws<ValueError>(), [] { return expand_dims(of({2}), {.axis = 2}); },
     "expand_dims: axis 2 is out of range for rank 2"},
    {throws<ValueError>(), [] { return squeeze(of({2, 3}), 0); },
     "squeeze: axis 0 has size 2, not 1 (x float32[2,3])"},
    {throws<ValueError>(), [] { return squeeze(of({1}), 1); },
     "squeeze: axis 1 is out of range for rank 1"},
    {throws<ValueError>(), [] { return batch_flatten(of({})); },
     "batch_flatten: x is a scalar (x float32[])"},
    {throws<ValueError>(1), [] { return repeat_elements(of({2}), -1, 0); },
     "repeat_elements: rep is -1"},
    {throws<ValueError>(), [] { return repeat_elements(of({2}), 1, -2); },
     "repeat_elements: axis -2 is out of range for rank 1"},
    {throws<ValueError>(), [] { return repeat_elements(of({4}), std::int64_t{1} << 62, 0); },
     "repeat_elements: a dimension does not fit in 64 bits"},
    {throws<ValueError>(), [] { return repeat(of({2, 2}), -1); }, "repeat: n is -1"},
    {throws<ValueError>(), [] { return repeat(of({2}), 3); },
     "repeat: x has rank 1, not 2 (x float32[2])"},
    {throws<NotImplementedError>(), [] { return tile(of({2}), {2, 2}); },
     "tile: n (2, 2) has more entries than x has axes (x float32[2])"},
    {throws<ValueError>(), [] { return tile(of({2}), -1); }, "tile: n is -1"},
    {throws<ValueError>(), [] { return tile(of({2}), {-1, 2}); }, "tile: n[0] is -1"},
    {throws<ValueError>(), [] { return tile(of({2}), {None}); },
     "tile: n[0] is None; a size is needed"},
    {throws<ValueError>(), [] { return tile(of({2}), constant(2.5)); },
     "tile: n holds a tensor that is not an integer scalar (n float32[])"},
    {throws<ValueError>(), [] { return tile(of({2}), Tensor()); }, "tile: n is an empty tensor"},
    {throws<NotImplementedError>(), [] { return tile(of({}), 2); },
     "tile: n (2) has more entries than x has axes (x float32[])"},
    {throws<ValueError>(), [] { return tile(of({4}), std::int64_t{1} << 62); },
     "tile: a dimension does not fit in 64 bits"},
    {throws<ValueError>(), [] { return reverse(of({2}), 1); },
     "reverse: axes 1 is out of range for rank 1"},
    {throws<ValueError>(1), [] { return reverse(of({2}), {0, 0}); },
     "reverse: axes (0, 0) repeats an axis"},
    {throws<ValueError>(), [] { return pattern_broadcast(of({2, 3}), {true}); },
     "pattern_broadcast: broadcastable has 1 entries for the 2 axes of x (x float32[2,3])"},
    {throws<ValueError>(), [] { return pattern_broadcast(of({2, 1}), {true, true}); },
     "pattern_broadcast: axis 0 has size 2, not 1 (x float32[2,1])"},
    {throws<ValueError>(), [] { return size(Tensor()); }, "size: x is an empty tensor"},
};

}  // namespace

std::vector<Row> shape_rows() { return movement(); }

TEST_CASE("shape operations", "[k]") { run(shape_rows()); }

TEST_CASE("shape operations: gradients", "[k]") {
  for (const SmoothRow& row : kSmooth) run(row);
}

TEST_CASE("shape operations: misuse", "[k]") { run(kErrors); }

TEST_CASE("shape operations: unknown sizes are checked at the call", "[k]") {
  const Tensor x = placeholder({.shape = {None, None}, .name = "x"});
  const Tensor y = placeholder({.shape = {None, None}, .name = "y"});
  const auto error = [&](const Tensor& result, const Array& fed, const Array& other) {
    const Function f = function({x, y}, {result}, {.backend = tested_backend()});
    return error_text<ValueError>([&] { f({fed, other}); });
  };
  const Array m32 = counted({3, 2}), row = counted({1, 2});
  CHECK(error(reshape(x, {2, 2}), m23(), row) ==
        "reshape: cannot reshape to [2,2]: x.0*x.1 elements are not 4 (x float32[x.0,x.1]); in "
        "this call x.0*x.1 is 6");
  CHECK(error(reshape(x, {4, -1}), m23(), row) ==
        "reshape: cannot reshape to [4,floordiv(x.0*x.1,4)]: x.0*x.1 elements are not "
        "4*floordiv(x.0*x.1,4) (x float32[x.0,x.1]); in this call x.0*x.1 is 6 and "
        "4*floordiv(x.0*x.1,4) is 4");
  CHECK(error(squeeze(x, 0), m23(), row) ==
        "squeeze: size x.0 of axis 0 is not 1 (float32[x.0,x.1]); in this call x.0 is 2");
  CHECK(error(squeeze(x, -1), none({3, 0}), row) ==
        "squeeze: size x.1 of axis 1 is not 1 (float32[x.0,x.1]); in this call x.1 is 0");
  CHECK(error(pattern_broadcast(x, {true, false}), m23(), row) ==
        "pattern_broadcast: size x.0 of axis 0 is not 1 (float32[x.0,x.1]); in this call x.0 is "
        "2");
  CHECK(error(concatenate({x, y}), m23(), m32) ==
        "concatenate: sizes x.0 and y.0 of axis 0 differ (float32[x.0,x.1], float32[y.0,y.1]); "
        "in this call x.0 is 2 and y.0 is 3");
  CHECK(error(concatenate({x, y}, {.axis = 0}), m23(), m32) ==
        "concatenate: sizes x.1 and y.1 of axis 1 differ (float32[x.0,x.1], float32[y.0,y.1]); "
        "in this call x.1 is 3 and y.1 is 2");
  CHECK(error(stack({x, y}), m23(), m32) ==
        "stack: sizes x.0 and y.0 of axis 1 differ (float32[1,x.0,x.1], float32[1,y.0,y.1]); in "
        "this call x.0 is 2 and y.0 is 3");
}

TEST_CASE("is_tensor, is_variable", "[k]") {
  const Tensor x = placeholder({.shape = {2}});
  const Variable v = variable(Array{1.f});
  CHECK(is_tensor(x));
  CHECK(is_tensor(v));
  CHECK_FALSE(is_tensor(1.0));
  CHECK_FALSE(is_tensor(Tensor()));
  CHECK(is_variable(v));
  CHECK_FALSE(is_variable(x));
  CHECK_FALSE(is_variable(v + 1));
  CHECK_FALSE(is_variable(Tensor()));
  CHECK(size(x, {.name = "count"}).name() == "count");
}

}  // namespace kiln::test
