// Tests normalization, shape operations, images, convolutions, pooling, dropout and higher-order
// functions in every dtype: an accepted dtype gives the values of float64, in the dtype that the
// function's header says; any other dtype is a TypeError.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/k/row.h"

#include "core/types/text.h"

namespace kiln::test {
namespace {

enum class Takes { Floats, Numbers, All };

struct DTypeRow {
  const char* name;
  std::vector<std::int64_t> dims;
  Tensor (*build)(const Tensor& x);
  Takes takes;
};

/// Whole numbers of x's dtype with these dims, for filters and biases: 1, 2, 0, 1, ..
Tensor numbers_for(const Tensor& x, std::vector<std::int64_t> dims) {
  std::int64_t count = 1;
  for (std::int64_t size : dims) count *= size;
  std::vector<std::int32_t> elements;
  for (std::int64_t i = 0; i < count; ++i) elements.push_back(static_cast<std::int32_t>(i + 1) % 3);
  return constant(Array(elements, std::move(dims)), {.dtype = dtype(x)});
}

const DTypeRow kDtypeSweepRows[] = {
    {"reshape", {2, 3}, [](const Tensor& x) { return reshape(x, {3, -1}); }, Takes::All},
    {"permute_dimensions",
     {2, 3},
     [](const Tensor& x) { return permute_dimensions(x, {1, 0}); },
     Takes::All},
    {"concatenate", {2, 3}, [](const Tensor& x) { return concatenate({x, x}); }, Takes::All},
    {"stack", {2, 3}, [](const Tensor& x) { return stack({x, x}, {.axis = 1}); }, Takes::All},
    {"expand_dims", {2, 3}, [](const Tensor& x) { return expand_dims(x); }, Takes::All},
    {"squeeze", {2, 1, 3}, [](const Tensor& x) { return squeeze(x, 1); }, Takes::All},
    {"flatten", {2, 3}, [](const Tensor& x) { return flatten(x); }, Takes::All},
    {"batch_flatten", {2, 3, 2}, [](const Tensor& x) { return batch_flatten(x); }, Takes::All},
    {"repeat_elements",
     {2, 3},
     [](const Tensor& x) { return repeat_elements(x, 2, 0); },
     Takes::All},
    {"repeat", {2, 3}, [](const Tensor& x) { return repeat(x, 2); }, Takes::All},
    {"tile", {2, 3}, [](const Tensor& x) { return tile(x, {2, 1}); }, Takes::All},
    {"reverse", {2, 3}, [](const Tensor& x) { return reverse(x, 1); }, Takes::All},
    {"slice", {2, 3}, [](const Tensor& x) { return slice(x, {0, 1}, {-1, 2}); }, Takes::All},
    {"pattern_broadcast",
     {1, 3},
     [](const Tensor& x) { return pattern_broadcast(x, {true, false}); },
     Takes::All},
    {"temporal_padding",
     {1, 3, 2},
     [](const Tensor& x) { return temporal_padding(x); },
     Takes::All},
    {"spatial_2d_padding",
     {1, 2, 3, 1},
     [](const Tensor& x) { return spatial_2d_padding(x); },
     Takes::All},
    {"spatial_3d_padding",
     {1, 2, 1, 2, 1},
     [](const Tensor& x) { return spatial_3d_padding(x); },
     Takes::All},
    {"resize_images",
     {1, 2, 3, 1},
     [](const Tensor& x) { return resize_images(x, 2, 2, "channels_last"); },
     Takes::All},
    {"resize_images",
     {1, 2, 3, 1},
     [](const Tensor& x) {
       return resize_images(x, 2, 2, "channels_last", {.interpolation = "bilinear"});
     },
     Takes::Floats},
    {"resize_volumes",
     {1, 1, 2, 3, 1},
     [](const Tensor& x) { return resize_volumes(x, 2, 1, 2, "channels_last"); },
     Takes::All},
    {"conv1d",
     {1, 4, 2},
     [](const Tensor& x) { return conv1d(x, numbers_for(x, {2, 2, 1})); },
     Takes::Numbers},
    {"conv2d",
     {1, 3, 3, 2},
     [](const Tensor& x) {
       return conv2d(x, numbers_for(x, {2, 2, 2, 2}), {.strides = 2, .padding = "same"});
     },
     Takes::Numbers},
    {"conv3d",
     {1, 2, 2, 2, 1},
     [](const Tensor& x) { return conv3d(x, numbers_for(x, {2, 1, 2, 1, 2})); },
     Takes::Numbers},
    {"conv2d_transpose",
     {1, 2, 2, 2},
     [](const Tensor& x) {
       return conv2d_transpose(x, numbers_for(x, {2, 2, 1, 2}), {1, 4, 4, 1}, {.strides = 2});
     },
     Takes::Numbers},
    {"conv3d_transpose",
     {1, 1, 2, 2, 1},
     [](const Tensor& x) {
       return conv3d_transpose(x, numbers_for(x, {1, 2, 2, 1, 1}), {1, 1, 3, 3, 1});
     },
     Takes::Numbers},
    {"depthwise_conv2d",
     {1, 3, 3, 2},
     [](const Tensor& x) { return depthwise_conv2d(x, numbers_for(x, {2, 2, 2, 2})); },
     Takes::Numbers},
    {"separable_conv2d",
     {1, 3, 3, 2},
     [](const Tensor& x) {
       return separable_conv2d(x, numbers_for(x, {2, 1, 2, 1}), numbers_for(x, {1, 1, 2, 2}));
     },
     Takes::Numbers},
    {"separable_conv1d",
     {1, 3, 2},
     [](const Tensor& x) {
       return separable_conv1d(x, numbers_for(x, {2, 2, 1}), numbers_for(x, {1, 2, 2}));
     },
     Takes::Numbers},
    {"local_conv1d",
     {1, 4, 1},
     [](const Tensor& x) { return local_conv1d(x, numbers_for(x, {3, 2, 2}), 2, 1); },
     Takes::Numbers},
    {"local_conv2d",
     {1, 3, 3, 1},
     [](const Tensor& x) { return local_conv2d(x, numbers_for(x, {4, 4, 1}), 2, 1, {2, 2}); },
     Takes::Numbers},
    {"pool2d",
     {1, 3, 3, 2},
     [](const Tensor& x) { return pool2d(x, 2, {.padding = "same"}); },
     Takes::Numbers},
    {"pool2d",
     {1, 4, 4, 1},
     [](const Tensor& x) { return pool2d(x, 2, {.strides = 2, .pool_mode = "avg"}); },
     Takes::Floats},
    {"pool3d", {1, 2, 2, 3, 1}, [](const Tensor& x) { return pool3d(x, 2); }, Takes::Numbers},
    {"bias_add",
     {2, 3},
     [](const Tensor& x) { return bias_add(x, numbers_for(x, {3})); },
     Takes::Numbers},
    {"batch_normalization",
     {2, 3},
     [](const Tensor& x) {
       return batch_normalization(x, numbers_for(x, {3}), 4, 1, 2, {.epsilon = 0});
     },
     Takes::Floats},
    {"normalize_batch_in_training",
     {4, 1},
     [](const Tensor& x) {
       return normalize_batch_in_training(x, None, None, 0, {.epsilon = 0}).mean;
     },
     Takes::Floats},
    {"dropout", {2, 3}, [](const Tensor& x) { return dropout(x, 0); }, Takes::Floats},
    {"map_fn",
     {2, 3},
     [](const Tensor& x) { return map_fn([](const Tensor& e) { return reverse(e, 0); }, x); },
     Takes::All},
    {"foldl",
     {3, 2},
     [](const Tensor& x) {
       const auto shifted = [](const Tensor& a, const Tensor& e) {
         return concatenate({slice(a, {1}, {1}), slice(e, {0}, {1})});
       };
       return foldl(shifted, x);
     },
     Takes::All},
    {"foldr",
     {3, 2},
     [](const Tensor& x) { return foldr([](const Tensor&, const Tensor& e) { return e; }, x); },
     Takes::All},
};

bool taken(Takes takes, DType dtype) {
  if (takes == Takes::Floats) return is_float(dtype);
  return takes == Takes::All || dtype != DType::Bool;
}

/// 3, 0, 1, 2, 3, ..
Array small_numbers(const std::vector<std::int64_t>& dims) {
  Array x = Array::zeros(dims, DType::Float64);
  std::int64_t i = 3;
  for (double& element : x.as<double>()) element = static_cast<double>(i++ % 4);
  return x;
}

}  // namespace

TEST_CASE("dtype sweep: shapes, windows and loops in every dtype that their headers list", "[k]") {
  std::vector<Array> values;
  Tensors inputs, results;
  std::vector<std::string> names;
  std::vector<std::size_t> wide;  // for each result the index of its float64 form
  for (const DTypeRow& row : kDtypeSweepRows) {
    const Array value = small_numbers(row.dims);
    const std::size_t at = results.size();
    const auto add = [&](DType dtype) {
      inputs.push_back(placeholder({.shape = row.dims, .dtype = dtype, .name = "x"}));
      values.push_back(value.astype(dtype));
      results.push_back(row.build(inputs.back()));
      names.push_back(text(row.name, " of ", dtype));
      wide.push_back(at);
    };
    add(DType::Float64);
    for (int i = 0; i < kDTypeCount; ++i) {
      const auto dtype = static_cast<DType>(i);
      INFO(row.name << " of " << dtype);
      if (taken(row.takes, dtype)) {
        add(dtype);
        CHECK(kiln::dtype(results.back()) == dtype_name(dtype));
        continue;
      }
      const Tensor x = placeholder({.shape = row.dims, .dtype = dtype, .name = "x"});
      const std::string error = testing::error_text<TypeError>([&] { row.build(x); });
      CHECK_THAT(error, Catch::Matchers::StartsWith(std::string(row.name) + ": "));
      const char* const message =
          row.takes == Takes::Floats ? "is not floating point" : "is bool, not a number";
      CHECK_THAT(error, Catch::Matchers::ContainsSubstring(message));
    }
  }
  const auto got = evaluate(inputs, results, values);
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO(names[i]);
    CHECK(difference(got[i], got[wide[i]].astype(got[i].dtype()), 1e-12) == "");
  }
}

TEST_CASE("one_hot: its dtype is floatx() for every integer dtype", "[k]") {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    INFO(dtype);
    const Tensor x = placeholder({.shape = {3}, .dtype = dtype, .name = "x"});
    if (!is_integer(dtype)) {
      CHECK(testing::error_text<TypeError>([&] { one_hot(x, 2); }) ==
            text("one_hot: indices are not integers (indices ", dtype, "[3])"));
      continue;
    }
    const Function f = function({x}, {one_hot(x, 2)}, {.backend = tested_backend()});
    CHECK(f({Array{1, 0, 2}.astype(dtype)})[0] == f32({3, 2}, {0, 1, 1, 0, 0, 0}));
  }
}

}  // namespace kiln::test
