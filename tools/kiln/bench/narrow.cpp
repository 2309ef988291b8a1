// Rows of narrow tensors: pixels of three channels, pairs, a few classes, matmuls and sums with one
// column.
#include "tools/kiln/bench/rows.h"

#include "core/types/text.h"

namespace kiln::bench {
namespace {

double count_of(const Ints& dims) { return static_cast<double>(elements(dims)); }

Array drawn_doubles(const Ints& dims) { return drawn(dims).astype(DType::Float64); }

/// uint8 images to floats: scaled, resized to twice the size, normalised, channels first.
Row preprocess_row(const std::string& interpolation, const Ints& dims) {
  return {text("preprocess_", interpolation),
          text(join_text(dims, " x "), " of uint8: to [0, 1], resized by 2 (", interpolation,
               "), normalised, channels first"),
          copy_limit("each byte read, 4 floats written", 17 * count_of(dims)), [=] {
            WorkBuilder builder(Memory::Host);
            const Tensor images = builder.input(drawn_classes(dims, 256).astype(DType::UInt8));
            const Tensor large = resize_images(cast(images, "float32") / 255.0, 2, 2,
                                               "channels_last", {.interpolation = interpolation});
            const Tensor mean = constant({0.485f, 0.456f, 0.406f});
            const Tensor deviation = constant({0.229f, 0.224f, 0.225f});
            return builder.work({permute_dimensions((large - mean) / deviation, {0, 3, 1, 2})});
          }};
}

Row bias_row(const std::string& name, const Ints& dims, DType dtype) {
  const double bytes = 2 * count_of(dims) * static_cast<double>(dtype_bytes(dtype));
  return {name, text("x + b, x ", dtype, " ", join_text(dims, " x ")),
          copy_limit("x read, the sum written", bytes), [=] {
            WorkBuilder builder(Memory::Host);
            const Tensor x = builder.input(drawn(dims).astype(dtype));
            return builder.work({x + builder.input(drawn({dims[1]}).astype(dtype))});
          }};
}

Row softmax_4(const Ints& dims) {
  return {"softmax_4", text("softmax of the rows of ", join_text(dims, " x ")),
          copy_limit("1 array read, 1 written, 8 B an element", 8 * count_of(dims)), [=] {
            WorkBuilder builder(Memory::Host);
            return builder.work({softmax(builder.input(drawn(dims)))});
          }};
}

/// The matmuls of logistic regression, in float64: X v, then X^T r.
Row column_matmuls(const std::string& name, const Ints& dims) {
  return {name, text("X v and X^T r in float64, X ", join_text(dims, " x ")),
          copy_limit("X read twice", 16 * count_of(dims)), [=] {
            WorkBuilder builder(Memory::Host);
            const Tensor x = builder.input(drawn_doubles(dims));
            const Tensor v = builder.input(drawn_doubles({dims[1], 1}));
            const Tensor r = builder.input(drawn_doubles({dims[0], 1}));
            return builder.work({dot(x, v), dot(transpose(x), r)});
          }};
}

Row residual_sums(const std::string& name, const Ints& dims, DType dtype) {
  return {name,
          text("sum(r x, 0) and mean(square(x - r), 0), x ", dtype, " ", join_text(dims, " x "),
               ", r ", dims[0], " x 1"),
          copy_limit("x read once", count_of(dims) * static_cast<double>(dtype_bytes(dtype))), [=] {
            WorkBuilder builder(Memory::Host);
            const Tensor x = builder.input(drawn(dims).astype(dtype));
            const Tensor r = builder.input(drawn({dims[0], 1}).astype(dtype));
            return builder.work({sum(r * x, {.axis = 0}), mean(square(x - r), {.axis = 0})});
          }};
}

}  // namespace

std::vector<Row> narrow_rows(bool tiny) {
  const Ints images = tiny ? Ints{2, 4, 5, 3} : Ints{8, 224, 224, 3};
  const std::int64_t rows = tiny ? 40 : 1 << 20;
  return {preprocess_row("nearest", images),
          preprocess_row("bilinear", images),
          bias_row("bias_rgb", {rows, 3}, DType::Float32),
          bias_row("bias_pairs_f64", {rows, 2}, DType::Float64),
          softmax_4({rows, 4}),
          column_matmuls("columns_f64", tiny ? Ints{40, 5} : Ints{20000, 200}),
          column_matmuls("columns_tall_f64", tiny ? Ints{40, 3} : Ints{100000, 32}),
          residual_sums("residual_sums", tiny ? Ints{40, 5} : Ints{200000, 16}, DType::Float32),
          residual_sums("residual_sums_f64", tiny ? Ints{40, 3} : Ints{30000, 70}, DType::Float64)};
}

}  // namespace kiln::bench
