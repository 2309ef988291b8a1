// Formats as NumPy's str(): shortest digits that read back, at most 8 after the point, aligned
// columns, lines of at most 75 characters, and above 1000 elements three at each end of an axis.
#include "runtime/array/array_text.h"

#include "core/types/fp_environment.h"
#include "core/types/half.h"
#include "core/types/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace kiln::runtime {
namespace {

constexpr int kPrecision = 8;
constexpr std::size_t kLineWidth = 75;
constexpr std::int64_t kEdge = 3;
constexpr std::size_t kSummaryAbove = 1000;

template <class T>
T load(const HostView& view, std::size_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(view.data) + index * sizeof(T), sizeof(T));
  return value;
}

// ---- Single numbers ----

template <class T>
std::string chars(T value, std::chars_format format, int precision = -1) {
  char text[512];
  char* const limit = text + sizeof(text);
  const std::to_chars_result result = precision < 0
                                          ? std::to_chars(text, limit, value, format)
                                          : std::to_chars(text, limit, value, format, precision);
  return std::string(text, result.ptr);
}

/// The double with the fewest digits that still rounds to the same half-width bits.
template <class Round>
double shortest_double(double value, Round round) {
  for (int precision = 0; precision < 8 && std::isfinite(value); ++precision) {
    const std::string digits = chars(value, std::chars_format::scientific, precision);
    double candidate = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), candidate);
    if (round(candidate) == round(value)) return candidate;
  }
  return value;
}

/// A floating-point number to print. float32 is printed as such, since 0.1f has many digits as a
/// double.
struct Number {
  double value = 0;
  bool is_float32 = false;

  std::string format(std::chars_format how, int precision = -1) const {
    return is_float32 ? chars(static_cast<float>(value), how, precision)
                      : chars(value, how, precision);
  }
};

Number load_float(const HostView& view, std::size_t index) {
  if (view.dtype == DType::Float64) return {load<double>(view, index), false};
  if (view.dtype == DType::Float32) return {load<float>(view, index), true};
  const auto bits = load<std::uint16_t>(view, index);
  if (view.dtype == DType::Float16) {
    return {shortest_double(float16_to_float(bits), float16_of_double), false};
  }
  return {shortest_double(bfloat16_to_float(bits), bfloat16_of_double), false};
}

std::string integer_text(const HostView& view, std::size_t index) {
  switch (view.dtype) {
    case DType::Int8: return std::to_string(load<std::int8_t>(view, index));
    case DType::Int16: return std::to_string(load<std::int16_t>(view, index));
    case DType::Int32: return std::to_string(load<std::int32_t>(view, index));
    case DType::Int64: return std::to_string(load<std::int64_t>(view, index));
    case DType::UInt8: return std::to_string(load<std::uint8_t>(view, index));
    case DType::UInt16: return std::to_string(load<std::uint16_t>(view, index));
    case DType::UInt32: return std::to_string(load<std::uint32_t>(view, index));
    case DType::UInt64: return std::to_string(load<std::uint64_t>(view, index));
    case DType::Bool: return load<std::uint8_t>(view, index) != 0 ? "True" : "False";
    case DType::Float16:
    case DType::BFloat16:
    case DType::Float32:
    case DType::Float64: break;
  }
  return {};
}

std::string special_text(double value) {
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

/// The parts of a number around its point and its exponent.
struct Digits {
  std::string whole, fraction, exponent;
};

Digits digits_of(const Number& number, std::chars_format how) {
  const auto parse = [](std::string all) {
    Digits digits;
    const std::size_t e = all.find('e');
    if (e != std::string::npos) digits.exponent = all.substr(e);
    all.resize(std::min(e, all.size()));
    const std::size_t point = all.find('.');
    digits.whole = all.substr(0, point);
    if (point != std::string::npos) digits.fraction = all.substr(point + 1);
    return digits;
  };
  Digits digits = parse(number.format(how));
  if (digits.fraction.size() <= kPrecision) return digits;
  digits = parse(number.format(how, kPrecision));
  digits.fraction.resize(digits.fraction.find_last_not_of('0') + 1);
  return digits;
}

/// Formats a scalar: "1.0", "1e-05".
std::string scalar_text(const HostView& view) {
  if (!is_float(view.dtype)) return integer_text(view, 0);
  const Number number = load_float(view, 0);
  if (!std::isfinite(number.value)) return special_text(number.value);
  const double size = std::fabs(number.value);
  if (size != 0 && (size < 1e-4 || size >= 1e16)) {
    return number.format(std::chars_format::scientific);
  }
  std::string digits = number.format(std::chars_format::fixed);
  return digits.find('.') == std::string::npos ? digits + ".0" : digits;
}

// ---- Columns ----

std::string padded(const std::string& word, std::size_t width) {
  return std::string(width - std::min(width, word.size()), ' ') + word;
}

/// The common format of all printed numbers.
class Column {
 public:
  Column(const HostView& view, const std::vector<std::size_t>& shown) : view_(view) {
    if (is_float(view.dtype)) {
      choose_notation(shown);
      measure_floats(shown);
      return;
    }
    for (const std::size_t i : shown) width_ = std::max(width_, integer_text(view, i).size());
    if (view.dtype == DType::Bool) width_ = 5;
  }

  std::string word(std::size_t index) const {
    if (!is_float(view_.dtype)) return padded(integer_text(view_, index), width_);
    const Number number = load_float(view_, index);
    if (!std::isfinite(number.value)) return padded(special_text(number.value), width_);
    const Digits digits = digits_of(number, notation_);
    std::string fraction = digits.fraction;
    const char fill = notation_ == std::chars_format::scientific ? '0' : ' ';
    fraction.resize(fraction_, fill);
    return padded(digits.whole + "." + fraction + digits.exponent, width_);
  }

 private:
  void choose_notation(const std::vector<std::size_t>& shown) {
    double largest = 0, smallest = std::numeric_limits<double>::infinity();
    for (const std::size_t i : shown) {
      const double size = std::fabs(load_float(view_, i).value);
      if (!std::isfinite(size) || size == 0) continue;
      largest = std::max(largest, size);
      smallest = std::min(smallest, size);
    }
    if (largest == 0) return;
    if (largest >= 1e8 || smallest < 1e-4 || largest / smallest > 1000) {
      notation_ = std::chars_format::scientific;
    }
  }

  void measure_floats(const std::vector<std::size_t>& shown) {
    std::size_t whole = 0, exponent = 0, special = 0;
    for (const std::size_t i : shown) {
      const Number number = load_float(view_, i);
      if (!std::isfinite(number.value)) {
        special = std::max(special, special_text(number.value).size());
        continue;
      }
      const Digits digits = digits_of(number, notation_);
      whole = std::max(whole, digits.whole.size());
      fraction_ = std::max(fraction_, digits.fraction.size());
      exponent = std::max(exponent, digits.exponent.size());
    }
    width_ = std::max(special, whole == 0 ? 0 : whole + 1 + fraction_ + exponent);
  }

  const HostView& view_;
  std::size_t width_ = 0, fraction_ = 0;
  std::chars_format notation_ = std::chars_format::fixed;
};

// ---- Brackets and lines ----

class Layout {
 public:
  explicit Layout(const HostView& view)
      : view_(view), summarize_(view.elements() > kSummaryAbove), column_(view, shown(0, 0)) {}

  std::string text() const { return nested(0, 0, kLineWidth); }

 private:
  bool is_elided(std::size_t axis) const { return summarize_ && view_.dims[axis] > 2 * kEdge; }

  /// Returns the printed positions along an axis; -1 is the ellipsis.
  std::vector<std::int64_t> positions(std::size_t axis) const {
    const std::int64_t length = view_.dims[axis];
    std::vector<std::int64_t> result;
    for (std::int64_t i = 0; i < length; ++i) {
      if (is_elided(axis) && i == kEdge) {
        result.push_back(-1);
        i = length - kEdge;
      }
      result.push_back(i);
    }
    return result;
  }

  std::size_t child(std::size_t base, std::size_t axis, std::int64_t position) const {
    return base * static_cast<std::size_t>(view_.dims[axis]) + static_cast<std::size_t>(position);
  }

  std::vector<std::size_t> shown(std::size_t axis, std::size_t base) const {
    if (axis == view_.dims.size()) return {base};
    std::vector<std::size_t> result;
    for (const std::int64_t position : positions(axis)) {
      if (position < 0) continue;
      const auto inner = shown(axis + 1, child(base, axis, position));
      result.insert(result.end(), inner.begin(), inner.end());
    }
    return result;
  }

  std::string nested(std::size_t axis, std::size_t base, std::size_t width) const {
    const std::string indent(axis + 1, ' ');
    const std::size_t axes_left = view_.dims.size() - axis;
    const std::string body =
        axes_left == 1 ? row(axis, base, width, indent) : block(axis, base, width, indent);
    return "[" + body.substr(indent.size()) + "]";
  }

  std::string row(std::size_t axis, std::size_t base, std::size_t width,
                  const std::string& indent) const {
    std::string done, line = indent;
    const char* separator = "";
    for (const std::int64_t position : positions(axis)) {
      line += separator;
      separator = " ";
      const std::string word = position < 0 ? "..." : column_.word(child(base, axis, position));
      if (line.size() + word.size() > width - 1 && line.size() > indent.size()) {
        line.resize(line.find_last_not_of(' ') + 1);
        done += line + "\n";
        line = indent;
      }
      line += word;
    }
    return done + line;
  }

  std::string block(std::size_t axis, std::size_t base, std::size_t width,
                    const std::string& indent) const {
    const std::string line_end(view_.dims.size() - axis - 1, '\n');
    std::string result;
    for (const std::int64_t position : positions(axis)) {
      if (!result.empty()) result += line_end;
      result += indent;
      result += position < 0 ? "..." : nested(axis + 1, child(base, axis, position), width - 1);
    }
    return result;
  }

  const HostView& view_;
  bool summarize_;
  Column column_;
};

}  // namespace

std::string array_text(const HostView& view) {
  const ScopedFpEnvironment usual;
  if (view.elements() == 0) return "[]";
  if (view.dims.empty()) return scalar_text(view);
  return Layout(view).text();
}

std::string index_text(std::span<const std::int64_t> dims, std::size_t element) {
  std::vector<std::size_t> index(dims.size());
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    const auto size = static_cast<std::size_t>(dims[axis]);
    index[axis] = element % size;
    element /= size;
  }
  return index.empty() ? "" : text("[", join_text(index, ","), "]");
}

}  // namespace kiln::runtime
