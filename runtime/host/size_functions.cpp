// Arithmetic on data-dependent sizes, and the checks that need their values.
#include "runtime/host/size_functions.h"

#include "core/ir/checked_size.h"
#include "core/k/base/tensor_impl.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kiln::runtime {
namespace {

using Sizes = std::vector<std::int64_t>;

std::vector<Array> arrays_of(const Sizes& sizes) {
  std::vector<Array> arrays;
  for (const std::int64_t size : sizes) arrays.push_back(Array::full({size, 0}, 0, DType::Bool));
  return arrays;
}

Sizes elements_of(const Array& vector) {
  const auto elements = vector.as<std::int64_t>();
  return {elements.begin(), elements.end()};
}

[[noreturn]] void fail(std::string_view argument, const std::string& message) {
  Call::value_error(std::string(argument).c_str(), message);
}

void require_sizes(std::string_view argument, const Sizes& sizes) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0) fail(argument, text(argument, "[", i, "] is ", sizes[i]));
  }
}

template <class Number>
Number scalar(const Array& array) {
  return array.as<Number>()[0];
}

/// Computes max(0, ceil((stop - start) / step)).
std::int64_t integer_length(std::int64_t start, std::int64_t stop, std::int64_t step) {
  using ir::checked::add;
  using ir::checked::mul;
  const std::int64_t span = step > 0 ? add(stop, mul(start, -1)) : add(start, mul(stop, -1));
  const std::int64_t stride = step > 0 ? step : mul(step, -1);
  return span <= 0 ? 0 : (span - 1) / stride + 1;
}

std::int64_t floating_length(double start, double stop, double step) {
  const double length = std::ceil((stop - start) / step);
  if (!(std::isfinite(start) && std::isfinite(stop))) {
    fail("stop", text("start is ", start, " and stop ", stop));
  }
  if (!(length < 0x1p63)) {
    fail("stop", text(start, " to ", stop, " in steps of ", step, " are 2^63 elements or more"));
  }
  return static_cast<std::int64_t>(std::max(0.0, length));
}

}  // namespace

std::vector<Array> sizes(std::string_view payload, std::span<const Array> inputs) {
  const Sizes found = elements_of(inputs[0]);
  require_sizes(payload, found);
  return arrays_of(found);
}

std::vector<Array> reshape_sizes(std::string_view payload, std::span<const Array> inputs) {
  Sizes found = elements_of(inputs[0]);
  const Sizes given = found;
  const std::int64_t count = scalar<std::int64_t>(inputs[1]);
  const auto describe = [&] { return text("[", join_text(given, ","), "]"); };
  const auto free = std::find(found.begin(), found.end(), -1);
  if (free != found.end()) *free = 1;
  if (std::count(found.begin(), found.end(), -1) != 0) {
    fail(payload, text("shape has more than one -1: ", describe()));
  }
  require_sizes(payload, found);
  std::int64_t rest = ir::checked::product(found);
  if (free != found.end()) {
    if (rest == 0) {
      fail(payload, text("a size of -1 is ambiguous if another size is 0: ", describe()));
    }
    *free = count / rest;
    rest *= *free;
  }
  if (rest != count) {
    fail(payload, text("cannot reshape ", count, " elements to ", describe()));
  }
  return arrays_of(found);
}

std::vector<Array> slice_size(std::string_view payload, std::span<const Array> inputs) {
  const auto start = scalar<std::int64_t>(inputs[0]), size = scalar<std::int64_t>(inputs[1]),
             whole = scalar<std::int64_t>(inputs[2]);
  const bool starts_inside = start >= 0 && start <= whole;
  const std::int64_t left = starts_inside ? whole - start : 0;
  const std::int64_t count = size == -1 ? left : size;
  if (!starts_inside || count < 0 || count > left) {
    fail(payload, text(payload, " is ", size, " and the start ", start, " but the axis has ", whole,
                       " elements"));
  }
  return arrays_of({count});
}

std::vector<Array> range_length(std::string_view payload, std::span<const Array> inputs) {
  if (inputs[0].dtype() == DType::Float64) {
    return arrays_of({floating_length(scalar<double>(inputs[0]), scalar<double>(inputs[1]),
                                      scalar<double>(inputs[2]))});
  }
  const auto start = scalar<std::int64_t>(inputs[0]), step = scalar<std::int64_t>(inputs[2]);
  if (step == 0) fail("step", "step is 0");
  const std::int64_t length = integer_length(start, scalar<std::int64_t>(inputs[1]), step);
  const bool is_narrow = payload == "int32" && length != 0;
  for (const std::int64_t element : {start, start + (length - 1) * step}) {
    if (!is_narrow || (element >= INT32_MIN && element <= INT32_MAX)) continue;
    fail("dtype", text("element ", element, " is outside the range of int32"));
  }
  return arrays_of({length});
}

}  // namespace kiln::runtime
