// Imports Fourier transforms, as matmuls with matrices of sines, and windows.
#include "core/k/base/tensor_impl.h"
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/onnx/import/operands.h"
#include "core/types/at.h"

#include <cmath>
#include <cstring>
#include <numbers>

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Op;
using ir::Value;
using Values = std::vector<Value>;

/// The only element of input i as a size.
Dim signal_size(NodeContext& node, std::size_t i, const char* name) {
  const auto dims = node.dims(i);
  if (dims && dims->size() == 1) return dims->front();
  return dims_of(Shape(wrap(ir::reshape(node.input(i), {1}))), name).front();
}

/// A size as a float64 tensor.
Value spread_size(const Dim& size, const Dims& dims) {
  return ir::broadcast_to(ir::cast(ir::dim_size(size), DType::Float64), dims);
}

struct FourierTransform {
  Dim length;  // of the whole signal, N
  bool is_complex = false;  // the operand has imaginary parts
  bool is_inverse = false, is_onesided = false;
  DType dtype = DType::Float32;

  Dim half() const { return floor_div(length, 2) + 1; }
  Dim operand_size() const { return is_inverse && is_onesided ? half() : length; }
  Dim result_size() const { return !is_inverse && is_onesided ? half() : length; }
};

/// The matrix (n, parts, k, parts) of a transform: sums over n and the parts of the operand give
/// parts of the result. Forward, with a = 2 pi n k / N: (cos a, -sin a) for the real part, (sin a,
/// cos a) for the imaginary part. n k is reduced modulo N as an integer, so that angles are exact.
Value transform_matrix(const FourierTransform& t) {
  const Dims dims{t.operand_size(), t.result_size()};
  const ir::Type type{DType::Int64, dims};
  const Value length = ir::broadcast_to(ir::dim_size(t.length), dims);
  const Value turns = ir::binary(Op::Mod, ir::iota(type, 0) * ir::iota(type, 1), length);
  const Value angle =
      ir::cast(turns, DType::Float64) * (2 * std::numbers::pi) / ir::cast(length, DType::Float64);
  Value cos = ir::unary(Op::Cos, angle), sin = ir::unary(Op::Sin, angle);
  if (t.is_inverse) {
    // Conjugated, over N. A one-sided operand stands for its mirror image, too, but for the
    // constant and, of an even N, the last frequency.
    Value factor = 1.0 / ir::cast(length, DType::Float64);
    if (t.is_onesided) {
      const Value row = ir::iota(type, 0);
      const Value is_single = ir::binary(Op::Or, ir::equal_to(row, ir::zeros_like(row)),
                                         ir::equal_to(row * ir::like(row, 2), length));
      factor = ir::select(is_single, factor, factor * 2.0);
    }
    cos = cos * factor;
    sin = -(sin * factor);
  }
  const auto part = [&](const Value& x) {
    return ir::reshape(ir::cast(x, t.dtype), {dims[0], 1, dims[1], 1});
  };
  const bool is_real = t.is_inverse && t.is_onesided;
  const auto row = [&](const Value& real, const Value& imaginary) {
    return is_real ? part(real) : ir::concat({part(real), part(imaginary)}, 3);
  };
  const Value upper = row(cos, -sin);
  return t.is_complex ? ir::concat({upper, row(sin, cos)}, 1) : upper;
}

/// Elements 0 .. length - 1 of an axis; zeros follow where it is shorter.
Value fitted_to_length(const Value& x, int axis, const Dim& length) {
  const Dim size = x.dims()[at(axis)];
  if (equal(size, length) == ir::Ternary::Yes) return x;
  const Dim kept = min(size, length);
  Dims low(at(x.rank()), 0), high = low;
  high[at(axis)] = length - kept;
  const Value zero = ir::scalar_constant(x.dtype(), 0);
  return ir::pad(ir::slice_axis(x, axis, 0, kept), zero, low, high);
}

/// Whether the last axis holds real and imaginary parts. Throws ValueError if neither that nor 1.
bool has_imaginary_parts(NodeContext& node, const Value& x) {
  const Dim parts = x.rank() < 2 ? Dim(0) : x.dims().back();
  if (parts != Dim(1) && parts != Dim(2)) {
    node.fail(
        text("the last axis does not hold real, or real and imaginary parts (", x.type(), ")"));
  }
  return parts == Dim(2);
}

Values import_dft(NodeContext& node) {
  const Value x = node.input(0);
  FourierTransform t{.length = 0,
                     .is_complex = has_imaginary_parts(node, x),
                     .is_inverse = node.integer("inverse", 0) != 0,
                     .is_onesided = node.integer("onesided", 0) != 0,
                     .dtype = x.dtype()};
  const std::int64_t given = node.opset() < 20 ? node.integer("axis", 1)
                             : node.has(2)     ? known_integer(node, 2, "axis")
                                               : -2;
  const int axis = node.axis(given, x.rank());
  if (axis == x.rank() - 1) node.fail(text("axis ", axis, " holds real and imaginary parts"));
  const Dim size = x.dims()[at(axis)];
  const bool is_real = t.is_inverse && t.is_onesided;
  t.length = node.has(1) ? signal_size(node, 1, "dft_length") : is_real ? (size - 1) * 2 : size;
  const Value operand = fitted_to_length(x, axis, t.operand_size());
  // Labels: the axes of x, then those of the result's frequencies and parts.
  Ints labels(at(x.rank()));
  for (int i = 0; i < x.rank(); ++i) labels[at(i)] = i;
  Ints result = labels;
  const std::int64_t k = x.rank(), parts = k + 1;
  result[at(axis)] = k;
  result.back() = parts;
  return {ir::dot(operand, labels, transform_matrix(t), {axis, x.rank() - 1, k, parts}, result)};
}

/// Frames of the signal (batch, time, parts), frame_step apart, times the window.
Values import_stft(NodeContext& node) {
  const Value x = node.input(0);
  if (x.rank() != 3) node.fail(text("the signal is not of rank 3 (", x.type(), ")"));
  const std::int64_t step = known_integer(node, 1, "frame_step");
  if (step < 1) node.fail(text("frame_step is ", step));
  const Dim length = node.has(3)   ? signal_size(node, 3, "frame_length")
                     : node.has(2) ? product(node.input(2).dims())
                                   : x.dims()[1];
  const FourierTransform t{.length = length,
                           .is_complex = has_imaginary_parts(node, x),
                           .is_onesided = node.integer("onesided", 1) != 0,
                           .dtype = x.dtype()};
  const Dim count = floor_div(x.dims()[1] - length, step) + 1;
  Value frames = ir::window(
      x, {.axes = {1}, .counts = {count}, .sizes = {length}, .strides = {step}, .dilations = {1}});
  if (node.has(2)) {
    const Value window = fitted_operand(node, node.untrained_input(2), {length}, "window");
    frames = frames * ir::broadcast(window, frames.dims(), {3});
  }
  enum Label : std::int64_t { kBatch, kFrame, kPart, kTime, kFrequency, kResultPart };
  return {ir::dot(frames, {kBatch, kFrame, kPart, kTime}, transform_matrix(t),
                  {kTime, kPart, kFrequency, kResultPart},
                  {kBatch, kFrame, kFrequency, kResultPart})};
}

/// a - b cos(2 pi n / N) + c cos(4 pi n / N); N is the size, less 1 unless the window is periodic.
Values cosine_window(NodeContext& node, double a, double b, double c) {
  const Dim size = signal_size(node, 0, "size");
  const bool is_periodic = node.integer("periodic", 1) != 0;
  const Dims dims{size};
  const Value index = ir::cast(ir::iota({DType::Int64, dims}, 0), DType::Float64);
  const Value angle =
      index * (2 * std::numbers::pi) / spread_size(is_periodic ? size : max(size - 1, 1), dims);
  const Value y = a - ir::unary(Op::Cos, angle) * b + ir::unary(Op::Cos, angle * 2.0) * c;
  return {cast_to(y, node.integer("output_datatype", 1))};
}

Values import_hann_window(NodeContext& node) { return cosine_window(node, 0.5, 0.5, 0); }
Values import_hamming_window(NodeContext& node) {
  return cosine_window(node, 25.0 / 46, 21.0 / 46, 0);
}
Values import_blackman_window(NodeContext& node) { return cosine_window(node, 0.42, 0.5, 0.08); }

/// Triangles of height 1 over the frequencies of a one-sided DFT, whose corners are spaced evenly
/// in mel(f) = 2595 log10(1 + f / 700).
Values import_mel_weight_matrix(NodeContext& node) {
  const auto integer = [&](std::size_t i, const char* name) {
    return known_integer(node, i, name);
  };
  const std::int64_t bands = integer(0, "num_mel_bins"), length = integer(1, "dft_length"),
                     rate = integer(2, "sample_rate");
  const auto hertz = [&](std::size_t i, const char* name) {
    const auto numbers = node.known_numbers(i, name);
    if (numbers.size() != 1) node.fail(text(name, " has ", numbers.size(), " elements"));
    return numbers[0];
  };
  const double low_hertz = hertz(3, "lower_edge_hertz");
  const double high_hertz = hertz(4, "upper_edge_hertz");
  constexpr std::int64_t kMaxElements = 1 << 26;
  const bool is_small = bands >= 0 && length >= 0 && bands <= kMaxElements &&
                        length <= kMaxElements && (length / 2 + 1) * bands <= kMaxElements;
  if (!is_small || rate < 1) {
    node.fail(text("num_mel_bins ", bands, ", dft_length ", length, ", sample_rate ", rate));
  }
  const auto mel = [](double f) { return 2595 * std::log10(1 + f / 700); };
  const double low = mel(low_hertz);
  const double step = (mel(high_hertz) - low) / static_cast<double>(bands + 2);
  const std::int64_t bins = length / 2 + 1;
  const auto corner = [&](std::int64_t i) {
    const double f = 700 * (std::pow(10, (low + static_cast<double>(i) * step) / 2595) - 1);
    return std::floor(static_cast<double>(length + 1) * f / static_cast<double>(rate));
  };
  std::vector<float> weights(at(bins * bands), 0);
  for (std::int64_t band = 0; band < bands; ++band) {
    const double left = corner(band), peak = corner(band + 1), right = corner(band + 2);
    for (std::int64_t bin = 0; bin < bins; ++bin) {
      const double f = static_cast<double>(bin);
      const double weight = f < peak   ? (f - left) / (peak - left)
                            : f > peak ? (right - f) / (right - peak)
                                       : 1;
      if (left <= f && f <= std::max(right, peak)) {
        weights[at(bin * bands + band)] = static_cast<float>(weight);
      }
    }
  }
  std::vector<std::byte> bytes(weights.size() * sizeof(float));
  if (!bytes.empty()) std::memcpy(bytes.data(), weights.data(), bytes.size());
  const Value matrix = ir::constant({DType::Float32, {bins, bands}}, std::move(bytes));
  return {cast_to(matrix, node.integer("output_datatype", 1))};
}

constexpr OperatorRow kSignalRows[] = {
    {"BlackmanWindow", {17}, import_blackman_window},    {"DFT", {17, 20}, import_dft},
    {"HammingWindow", {17}, import_hamming_window},      {"HannWindow", {17}, import_hann_window},
    {"MelWeightMatrix", {17}, import_mel_weight_matrix}, {"STFT", {17}, import_stft},
};

}  // namespace

std::span<const OperatorRow> signal_operators() { return kSignalRows; }

}  // namespace kiln::onnx
