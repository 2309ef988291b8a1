// Steps of random programs that are matmuls and convolutions, followed by ops that backends may
// fuse: any order of reshapes, biases, activations, slices and second uses.
#include "tests/backends/random_programs/steps.h"

#include <algorithm>

namespace kiln::testing {

namespace {

Dims divisors(std::int64_t size) {
  Dims found;
  for (std::int64_t i = 2; i < size; ++i) {
    if (size % i == 0) found.push_back(i);
  }
  return found;
}

bool is_empty(const Dims& dims) { return std::find(dims.begin(), dims.end(), 0) != dims.end(); }

/// Another shape of the same elements; x itself where none fits.
Value reshaped(Growing& growing, const Value& x) {
  if (is_empty(x.dims)) return x;
  std::int64_t count = 1;
  for (const std::int64_t dim : x.dims) count *= dim;
  const std::int64_t last = x.dims.back();
  const Dims parts = divisors(last), rows = divisors(count / last);
  const auto one_of = [&](const Dims& list) {
    return list[static_cast<std::size_t>(
        growing.draw.below(static_cast<std::int64_t>(list.size())))];
  };
  switch (growing.draw.below(4)) {
    case 0: return {reshape(x.tensor, {-1, last}), {count / last, last}, x.bound};
    case 1: return {reshape(x.tensor, {-1}), {count}, x.bound};
    case 2: {
      if (parts.empty()) return x;
      const std::int64_t part = one_of(parts);
      return {
          reshape(x.tensor, {-1, part, last / part}), {count / last, part, last / part}, x.bound};
    }
    default: {
      if (rows.empty()) return x;
      const std::int64_t part = one_of(rows);
      return {reshape(x.tensor, {-1, part, last}), {count / last / part, part, last}, x.bound};
    }
  }
}

Value with_bias(Growing& growing, const Value& x) {
  const Tensor bias = growing.input({x.dims.back()}).tensor;
  const bool adds = x.dims.size() < 2 || growing.draw.chance(50);
  return {adds ? x.tensor + bias : bias_add(x.tensor, bias, {.data_format = "channels_last"}),
          x.dims, x.bound + 2};
}

Value activated(Growing& growing, const Value& x) {
  switch (growing.draw.below(7)) {
    case 0: return {tanh(x.tensor), x.dims, 1};
    case 1: return {sigmoid(x.tensor), x.dims, 1};
    case 2: return {relu(x.tensor, {.alpha = 0.1}), x.dims, x.bound};
    case 3: return {minimum(relu(x.tensor), 100.0), x.dims, x.bound};
    default: return {relu(x.tensor), x.dims, x.bound};
  }
}

Value sliced(Growing& growing, const Value& x) {
  const auto axis =
      static_cast<std::size_t>(growing.draw.below(static_cast<std::int64_t>(x.dims.size())));
  if (x.dims[axis] < 2) return x;
  Value part = x;
  const std::int64_t start = growing.draw.below(x.dims[axis]);
  part.dims[axis] = 1 + growing.draw.below(x.dims[axis] - start);
  std::vector<ShapeEntry> starts(x.dims.size(), 0), sizes(x.dims.size(), -1);
  starts[axis] = start;
  sizes[axis] = part.dims[axis];
  part.tensor = slice(x.tensor, Shape(starts), Shape(sizes));
  return part;
}

Value scaled(Growing& growing, const Value& x) {
  return {x.tensor * growing.draw.between(-1, 1), x.dims, x.bound};
}

/// Adds two to six operations on a result.
void add_epilogue(Growing& growing, Value x) {
  const std::int64_t count = 2 + growing.draw.below(5);
  for (std::int64_t i = 0; i < count; ++i) {
    switch (growing.draw.below(7)) {
      case 0:
      case 1: x = with_bias(growing, x); break;
      case 2:
      case 3: x = activated(growing, x); break;
      case 4: x = reshaped(growing, x); break;
      case 5: x = growing.draw.chance(60) ? sliced(growing, x) : scaled(growing, x); break;
      default: growing.add(x.tensor, x.dims, x.bound); break;  // a second use
    }
  }
  growing.add(x.tensor, x.dims, x.bound);
}

}  // namespace

bool matmul_with_epilogue(Growing& growing) {
  constexpr std::int64_t kSizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 18, 24, 36};
  const auto size = [&] { return kSizes[growing.draw.below(std::size(kSizes))]; };
  const std::int64_t rows = size(), inner = size(), columns = size();
  Value x = growing.input({rows, inner});
  if (growing.draw.chance(40)) x = reshaped(growing, x);
  const Value w = growing.input({x.dims.back(), columns});
  Dims dims = x.dims;
  dims.back() = columns;
  add_epilogue(growing, {dot(x.tensor, w.tensor), dims, 4.0 * static_cast<double>(w.dims[0])});
  return true;
}

bool convolution_with_epilogue(Growing& growing) {
  const std::int64_t size = 2 + growing.draw.below(5), channels = 1 + growing.draw.below(4);
  const std::int64_t filters = 1 + growing.draw.below(8), kernel = 1 + growing.draw.below(2);
  const Value x = growing.input({1 + growing.draw.below(3), size, size, channels});
  const Value w = growing.input({kernel, kernel, channels, filters});
  const Tensor result =
      conv2d(x.tensor, w.tensor, {.padding = "same", .data_format = "channels_last"});
  add_epilogue(growing, {result,
                         {x.dims[0], size, size, filters},
                         4.0 * static_cast<double>(kernel * kernel * channels)});
  return true;
}

}  // namespace kiln::testing
