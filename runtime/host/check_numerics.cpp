// Tests the bits of elements: arithmetic on them would depend on the floating-point environment.
#include "core/types/text.h"
#include "runtime/array/array_text.h"
#include "runtime/host/host_functions.h"

#include <kiln/error.h>

#include "backends/abi/kiln_backend_structs.h"

#include <algorithm>
#include <cstring>

namespace kiln::runtime {
namespace {

/// The elements of a tensor that are not finite.
struct NonFinite {
  std::size_t nans = 0, infinities = 0;
  std::size_t first = 0;      // linear index of the first of both
  std::size_t first_nan = 0;  // of the first NaN
};

/// Counts elements whose exponent bits are all set. `Bits`: an unsigned integer of the same size.
template <class Bits, Bits kExponent, Bits kSign>
NonFinite counted_non_finite(const HostView& view) {
  NonFinite found;
  const auto* elements = static_cast<const std::byte*>(view.data);
  const std::size_t count = view.elements();
  for (std::size_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, elements + i * sizeof(Bits), sizeof(Bits));
    if ((bits & kExponent) != kExponent) continue;
    if (found.nans + found.infinities == 0) found.first = i;
    if (static_cast<Bits>(bits & static_cast<Bits>(~kSign)) == kExponent) {
      ++found.infinities;
    } else if (found.nans++ == 0) {
      found.first_nan = i;
    }
  }
  return found;
}

NonFinite find_non_finite(const HostView& view) {
  switch (view.dtype) {
    case DType::Float16: return counted_non_finite<std::uint16_t, 0x7c00, 0x8000>(view);
    case DType::BFloat16: return counted_non_finite<std::uint16_t, 0x7f80, 0x8000>(view);
    case DType::Float32: return counted_non_finite<std::uint32_t, 0x7f800000, 0x80000000>(view);
    case DType::Float64:
      return counted_non_finite<std::uint64_t, 0x7ff0000000000000, 0x8000000000000000>(view);
    default: return {};
  }
}

/// " at [1,2]"; empty for a scalar.
std::string position_text(std::span<const std::int64_t> dims, std::size_t element) {
  const std::string index = index_text(dims, element);
  return index.empty() ? "" : text(" at ", index);
}

/// Formats one element that is not finite.
std::string_view value_text(const HostView& view, const NonFinite& found, std::size_t element) {
  if (found.nans > 0 && element == found.first_nan) return "nan";
  const std::size_t bytes = dtype_bytes(view.dtype);
  const auto* last = static_cast<const std::byte*>(view.data) + (element + 1) * bytes - 1;
  return (*last & std::byte{0x80}) != std::byte{0} ? "-inf" : "inf";  // little-endian
}

/// Formats how many of several elements are wrong: "; 2 of 3 elements are nan"; empty for a tensor
/// of one element.
std::string count_text(std::size_t wrong, std::size_t elements, std::string_view kind) {
  if (elements == 1) return "";
  return text("; ", wrong, " of ", elements, " elements ", wrong == 1 ? "is " : "are ", kind);
}

/// Formats the steps, which are int64 scalars: "; in step 3 of a loop".
std::string steps_text(std::span<const HostView> steps) {
  std::vector<std::int64_t> numbers;
  for (const HostView& step : steps) {
    if (step.dtype != DType::Int64 || !step.dims.empty()) {
      throw abi::BrokenStruct("check_numerics got a step number that is not an int64 scalar");
    }
    std::memcpy(&numbers.emplace_back(), step.data, sizeof(std::int64_t));
  }
  if (numbers.empty()) return "";
  if (numbers.size() == 1) return text("; in step ", numbers[0], " of a loop");
  return text("; in step [", join_text(numbers, ","), "] of nested loops");
}

}  // namespace

void host_check_numerics(const HostCallArguments& arguments) {
  if (arguments.inputs.empty() || arguments.outputs.size() != 1) {
    throw abi::BrokenStruct(text("check_numerics takes a value and gives one but got ",
                                 arguments.inputs.size(), " and ", arguments.outputs.size()));
  }
  const HostView& value = arguments.inputs[0];
  copy_value(value, arguments.outputs[0], "check_numerics");
  const NonFinite found = find_non_finite(value);
  if (found.nans + found.infinities == 0) return;

  const auto steps = std::find_if(arguments.inputs.begin(), arguments.inputs.end(),
                                  [](const HostView& input) { return !is_float(input.dtype); });
  const bool has_infinity =
      std::any_of(arguments.inputs.begin() + 1, steps,
                  [](const HostView& input) { return find_non_finite(input).infinities > 0; });
  if (has_infinity && found.nans == 0) return;

  const std::size_t element = has_infinity ? found.first_nan : found.first;
  const std::size_t wrong = found.nans + (has_infinity ? 0 : found.infinities);
  const std::string_view subject = arguments.payload_text();
  throw FloatingPointError(
      std::string(arguments.caller), "",
      text(subject, " ", value_text(value, found, element), position_text(value.dims, element),
           " in ", value.dtype, "[", join_text(value.dims, ","), "]",
           count_text(wrong, value.elements(), has_infinity ? "nan" : "nan or infinite"),
           has_infinity ? "; an operand has infinities" : "",
           steps_text({steps, arguments.inputs.end()})));
}

}  // namespace kiln::runtime
