// Steps of random programs: each reads values of the program and adds one. Layers are in
// layer_steps.cpp.
#include "tests/backends/random_programs/steps.h"

#include "core/k/base/tensor_impl.h"
#include "core/ops/build.h"

#include <algorithm>
#include <cmath>

namespace kiln::testing {

namespace {

std::int64_t axis_of(Growing& growing, const Dims& dims) {
  return growing.draw.below(static_cast<std::int64_t>(dims.size()));
}

/// The axis, written as a negative number every other time.
int written(Growing& growing, std::int64_t axis, const Dims& dims) {
  const auto rank = static_cast<std::int64_t>(dims.size());
  return static_cast<int>(growing.draw.chance(50) ? axis - rank : axis);
}

/// x with distinct elements: elements equal by design would differ by rounding.
Tensor without_ties(Growing& growing, const Value& x) {
  return x.tensor + growing.input(x.dims).tensor;
}

bool unary(Growing& growing) {
  const Value x = growing.any();
  const Tensor& t = x.tensor;
  const double b = x.bound;
  switch (growing.draw.below(15)) {
    case 0: growing.add(tanh(t), x.dims, 1); break;
    case 1: growing.add(sigmoid(t), x.dims, 1); break;
    case 2: growing.add(exp(t * (1 / b)), x.dims, 3); break;
    case 3: growing.add(log(square(t) + 0.5), x.dims, 1 + std::log(b * b + 0.5)); break;
    case 4: growing.add(sqrt(square(t) + 0.3), x.dims, b + 1); break;
    case 5: growing.add(sin(t), x.dims, 1); break;
    case 6: growing.add(cos(t), x.dims, 1); break;
    case 7: growing.add(square(t), x.dims, b * b); break;
    case 8: growing.add(softplus(t), x.dims, b + 1); break;
    case 9: growing.add(softsign(t), x.dims, 1); break;
    case 10: growing.add(-t, x.dims, b); break;
    case 11: growing.add(t * growing.draw.between(-2, 2), x.dims, 2 * b); break;
    case 12:
      growing.add(pow(square(t) + 0.5, growing.draw.between(-1, 1)), x.dims, b * b + 2);
      break;
    case 13: growing.add(wrap(ir::unary(ir::Op::Atan, value_of(t, "x"))), x.dims, 1.6); break;
    default: growing.add(growing.draw.between(0, 2) / (square(t) + 0.5), x.dims, 4); break;
  }
  return true;
}

bool kinked(Growing& growing) {
  const Value x = growing.any();
  const Tensor t = off_the_jump(growing, x);
  const double b = x.bound + 1;
  switch (growing.draw.below(8)) {
    case 0: growing.add(relu(t), x.dims, b); break;
    case 1: growing.add(abs(t), x.dims, b); break;
    case 2: growing.add(relu(t, {.alpha = 0.1, .max_value = 1.37}), x.dims, b); break;
    case 3: growing.add(clip(t, -0.711, 0.613), x.dims, 1); break;
    case 4: growing.add(elu(t), x.dims, b); break;
    case 5: growing.add(hard_sigmoid(t), x.dims, 1); break;
    case 6: growing.add(cast(t > 0.171, dtype(t)), x.dims, 1); break;
    default: growing.add(sign(t), x.dims, 1); break;
  }
  return true;
}

/// Whether x and y broadcast; sets `result`. Only a size that is known to be 1 broadcasts.
bool broadcast(const Value& x, const Value& y, Dims& result) {
  const auto known_x = int_shape(x.tensor), known_y = int_shape(y.tensor);
  const std::size_t rank_x = x.dims.size(), rank_y = y.dims.size();
  result = rank_x > rank_y ? x.dims : y.dims;
  for (std::size_t i = 1; i <= std::min(rank_x, rank_y); ++i) {
    const std::int64_t a = x.dims[rank_x - i], b = y.dims[rank_y - i];
    if (a != b && known_x[rank_x - i] != 1 && known_y[rank_y - i] != 1) return false;
    result[result.size() - i] = a == 1 ? b : a;
  }
  return true;
}

bool binary(Growing& growing) {
  const Value x = growing.any();
  const Value* other = nullptr;
  Dims dims;
  for (int tries = 0; tries < 6 && other == nullptr; ++tries) {
    const Value& candidate = growing.any();
    if (broadcast(x, candidate, dims)) other = &candidate;
  }
  if (other == nullptr) return false;
  const Value y = *other;
  const double sum = x.bound + y.bound;
  switch (growing.draw.below(8)) {
    case 0: growing.add(x.tensor + y.tensor, dims, sum); break;
    case 1: growing.add(x.tensor - y.tensor, dims, sum); break;
    case 2: growing.add(x.tensor * y.tensor, dims, x.bound * y.bound); break;
    case 3: growing.add(x.tensor / (square(y.tensor) + 0.5), dims, 2 * x.bound); break;
    case 4: growing.add(maximum(off_the_jump(growing, x), y.tensor), dims, sum + 1); break;
    case 5: growing.add(minimum(off_the_jump(growing, x), y.tensor), dims, sum + 1); break;
    case 6:
      growing.add(switch_(off_the_jump(growing, x) < y.tensor + x.tensor * 0.0,
                          x.tensor + y.tensor * 0.0, y.tensor * 0.5 + x.tensor * 0.0),
                  dims, sum);
      break;
    default: growing.add(x.tensor * 0.5 + y.tensor * growing.draw.between(-1, 1), dims, sum); break;
  }
  return true;
}

bool fresh_operand(Growing& growing) {
  const Value x = growing.any();
  Dims dims = x.dims;
  for (std::int64_t& dim : dims) {
    if (growing.draw.chance(30)) dim = 1;
  }
  if (!dims.empty() && growing.draw.chance(30)) dims.erase(dims.begin());
  const Value y = growing.input(dims);
  growing.add(growing.draw.chance(50) ? x.tensor * y.tensor : y.tensor + x.tensor, x.dims,
              2 * x.bound + 2);
  return true;
}

bool reduction(Growing& growing) {
  const Value* found = growing.of_rank(1);
  if (found == nullptr) return false;
  const Value x = *found;
  Axes axes = None;
  std::vector<bool> reduced(x.dims.size(), true);
  if (growing.draw.chance(80)) {
    std::vector<std::int64_t> chosen;
    for (std::size_t i = 0; i < x.dims.size(); ++i) {
      reduced[i] = growing.draw.chance(50);
      if (reduced[i]) chosen.push_back(static_cast<std::int64_t>(i));
    }
    if (chosen.empty()) return false;
    axes = Axes(chosen);
  }
  const bool keep = growing.draw.chance(50);
  Dims dims;
  std::int64_t count = 1;
  for (std::size_t i = 0; i < x.dims.size(); ++i) {
    if (!reduced[i]) dims.push_back(x.dims[i]);
    if (reduced[i] && keep) dims.push_back(1);
    if (reduced[i]) count *= x.dims[i];
  }
  const AxisOptions options{.axis = axes, .keepdims = keep};
  const double n = static_cast<double>(std::max<std::int64_t>(count, 1));
  if (count == 0) {
    growing.add(sum(x.tensor, options), dims, 1);
    return true;
  }
  switch (growing.draw.below(7)) {
    case 0: growing.add(sum(x.tensor, options), dims, n * x.bound); break;
    case 1: growing.add(mean(x.tensor, options), dims, x.bound); break;
    case 2: growing.add(max(without_ties(growing, x), options), dims, x.bound + 2); break;
    case 3: growing.add(min(without_ties(growing, x), options), dims, x.bound + 2); break;
    case 4: growing.add(var(x.tensor, options), dims, x.bound * x.bound); break;
    case 5: growing.add(logsumexp(x.tensor, options), dims, x.bound + std::log(n)); break;
    default: growing.add(prod(cos(x.tensor), options), dims, 1); break;
  }
  return true;
}

bool along_an_axis(Growing& growing) {
  const Value* found = growing.of_rank(1);
  if (found == nullptr) return false;
  const Value x = *found;
  const std::int64_t axis = axis_of(growing, x.dims);
  const std::int64_t size = x.dims[static_cast<std::size_t>(axis)];
  const int name = written(growing, axis, x.dims);
  Dims doubled = x.dims;
  doubled[static_cast<std::size_t>(axis)] = 2 * size;
  switch (growing.draw.below(9)) {
    case 0: growing.add(softmax(x.tensor, {.axis = name}), x.dims, 1); break;
    case 1:
      growing.add(cumsum(x.tensor, {.axis = name}), x.dims,
                  x.bound * static_cast<double>(size + 1));
      break;
    case 2: growing.add(cumprod(cos(x.tensor), {.axis = name}), x.dims, 1); break;
    case 3: growing.add(reverse(x.tensor, name), x.dims, x.bound); break;
    case 4:
      growing.add(concatenate({x.tensor, sin(x.tensor)}, {.axis = name}), doubled,
                  std::max(x.bound, 1.0));
      break;
    case 5:
      growing.add(repeat_elements(x.tensor, 2, static_cast<int>(axis)), doubled, x.bound);
      break;
    case 6: growing.add(l2_normalize(x.tensor, {.axis = name}), x.dims, 1); break;
    case 7: {
      Dims dims = x.dims;
      dims.insert(dims.begin() + axis, 1);
      growing.add(expand_dims(x.tensor, {.axis = static_cast<int>(axis)}), dims, x.bound);
      break;
    }
    default: {
      std::vector<std::int64_t> times(x.dims.size(), 1);
      times[static_cast<std::size_t>(axis)] = 2;
      growing.add(tile(x.tensor, times), doubled, x.bound);
      break;
    }
  }
  return true;
}

bool movement(Growing& growing) {
  const Value* found = growing.of_rank(2);
  if (found == nullptr) return false;
  const Value x = *found;
  switch (growing.draw.below(4)) {
    case 0: {
      std::vector<std::int64_t> pattern(x.dims.size());
      for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = static_cast<std::int64_t>(i);
      for (std::size_t i = pattern.size(); i-- > 1;) {
        std::swap(pattern[i], pattern[static_cast<std::size_t>(
                                  growing.draw.below(static_cast<std::int64_t>(i) + 1))]);
      }
      Dims dims;
      for (const std::int64_t axis : pattern) {
        dims.push_back(x.dims[static_cast<std::size_t>(axis)]);
      }
      growing.add(permute_dimensions(x.tensor, pattern), dims, x.bound);
      break;
    }
    case 1: {
      std::int64_t count = 1;
      for (const std::int64_t dim : x.dims) count *= dim;
      growing.add(flatten(x.tensor), {count}, x.bound);
      break;
    }
    case 2: {
      std::int64_t row = 1;
      for (std::size_t i = 1; i < x.dims.size(); ++i) row *= x.dims[i];
      growing.add(batch_flatten(x.tensor), {x.dims[0], row}, x.bound);
      break;
    }
    default: {
      Dims dims{2};
      dims.insert(dims.end(), x.dims.begin(), x.dims.end());
      growing.add(stack({x.tensor, x.tensor * 0.5}, {.axis = 0}), dims, x.bound);
      break;
    }
  }
  return true;
}

bool lookup(Growing& growing) {
  const Value* found = growing.of_rank(1);
  if (found == nullptr || found->dims[0] == 0) return false;
  const Value x = *found;
  Dims rows{1 + growing.draw.below(9)};
  if (growing.draw.chance(30)) rows.push_back(2);
  const Tensor indices = growing.indices(rows, x.dims[0]);
  Dims dims = rows;
  dims.insert(dims.end(), x.dims.begin() + 1, x.dims.end());
  growing.add(gather(x.tensor, indices), dims, x.bound);
  return true;
}

/// Slices or reshapes to sizes that are fed; a size of 1 is known, as in inputs.
bool sizes_as_data(Growing& growing) {
  const Value* found = growing.draw.chance(50) ? growing.of_rank(1) : nullptr;
  if (found == nullptr) return false;
  const Value x = *found;
  Dims dims = x.dims;
  if (growing.draw.chance(50)) {
    dims[0] = growing.draw.below(x.dims[0] + 1);
    const Tensor start = growing.number(growing.draw.below(x.dims[0] - dims[0] + 1));
    const ShapeEntry rows = dims[0] == 1 ? ShapeEntry(1) : growing.number(dims[0]);
    std::vector<ShapeEntry> starts(dims.size(), 0), sizes(dims.size(), -1);
    starts[0] = start;
    sizes[0] = rows;
    growing.add(slice(x.tensor, Shape(starts), Shape(sizes)), dims, x.bound);
    return true;
  }
  std::int64_t row = 1;
  for (std::size_t i = 1; i < dims.size(); ++i) row *= dims[i];
  if (row == 1) return false;
  growing.add(reshape(x.tensor, {x.dims[0], growing.number(row)}), {x.dims[0], row}, x.bound);
  return true;
}

/// A scalar or row computed of sizes and indices alone: read by kernels through other such values,
/// and by a loop, which needs it in memory.
bool values_of_sizes(Growing& growing) {
  const Value* found = growing.of_rank(1);
  if (found == nullptr) return false;
  const Value x = *found;
  const std::int64_t axis = axis_of(growing, x.dims);
  const std::int64_t size = x.dims[static_cast<std::size_t>(axis)];
  const auto bound = 0.25 * static_cast<double>(size);
  const Tensor length = shape(x.tensor)[axis];
  const std::string type = dtype(x.tensor);
  if (growing.draw.chance(30)) {
    const Tensor row = cast(arange(length), type) * 0.25;
    growing.add(row, {size}, bound);
    growing.add(sin(row * 3 + 1), {size}, 1);
    return true;
  }
  const Tensor number = cast(length, type) * 0.25;
  if (growing.draw.chance(50)) growing.add(number, {}, bound);
  growing.add(x.tensor * (number + 1), x.dims, x.bound * (bound + 1));
  const auto decay = [](const Tensor& a, const Tensor& e) { return a * 0.5 + tanh(sum(e)); };
  growing.add(foldl(decay, x.tensor, {.initializer = number}), {}, bound + 2);
  return true;
}

bool integers(Growing& growing) {
  const Value* found = growing.of_rank(1);
  if (found == nullptr || found->dims.back() == 0) return false;
  const Value x = *found;
  Dims dims(x.dims.begin(), x.dims.end() - 1);
  const Tensor best = argmax(without_ties(growing, x));
  if (growing.draw.chance(50)) {
    dims.push_back(7);
    growing.add(cast(one_hot(cast(best, "int32"), 7), dtype(x.tensor)), dims, 1);
    return true;
  }
  growing.add(cast(best, dtype(x.tensor)), dims, static_cast<double>(x.dims.back()));
  return true;
}

}  // namespace

Tensor off_the_jump(Growing& growing, const Value& x) {
  return x.tensor + (growing.draw.between(-0.4, 0.4) + 1e-3);
}

const std::vector<Step>& steps() {
  static const std::vector<Step> all = {
      {"unary", unary},
      {"unary", unary},
      {"kinked", kinked},
      {"binary", binary},
      {"binary", binary},
      {"fresh operand", fresh_operand},
      {"reduction", reduction},
      {"reduction", reduction},
      {"along an axis", along_an_axis},
      {"along an axis", along_an_axis},
      {"movement", movement},
      {"lookup", lookup},
      {"product", product},
      {"product with itself", product_with_itself},
      {"attention", attention},
      {"recurrence", recurrence},
      {"element by element", element_by_element},
      {"image", image},
      {"other convolution", other_convolution},
      {"gated recurrence", gated_recurrence},
      {"normalization", normalization},
      {"branch", branch},
      {"integers", integers},
      {"sizes as data", sizes_as_data},
      {"values of sizes", values_of_sizes},
      {"casts", casts},
      {"matmul with epilogue", matmul_with_epilogue},
      {"convolution with epilogue", convolution_with_epilogue},
      {"branch with own values", branch_with_own_values},
      {"dropout in training", dropout_in_training},
      {"branch beside a failure", branch_beside_a_failure},
      {"branch of nothing", branch_of_nothing},
      {"loop beside a failure", loop_beside_a_failure},
      {"loop that ends", loop_that_ends},
  };
  return all;
}

}  // namespace kiln::testing
