// The rows of sizes that change from call to call. A call of a row is a round over all sizes.
#include "tools/kiln/bench/rows.h"

#include "core/types/text.h"

#include <cmath>

namespace kiln::bench {
namespace {

/// A transformer layer: attention with `heads` heads of `width / heads`, then two dense layers.
struct LayerSizes {
  std::int64_t width, heads, hidden;

  std::int64_t head() const { return width / heads; }
  /// Operations for one new position of `length` in all.
  double operations(std::int64_t length) const {
    const auto w = static_cast<double>(width), h = static_cast<double>(hidden);
    return 2 * (4 * w * w + 2 * w * h + 2 * w * static_cast<double>(length));
  }
};

Tensor matrix(std::int64_t rows, std::int64_t columns) {
  const double scale = 1 / std::sqrt(static_cast<double>(rows));
  return random_uniform_variable({rows, columns}, -scale, scale, {.seed = 1});
}

class Layer {
 public:
  explicit Layer(const LayerSizes& sizes) : s_(sizes) {}

  /// (length, width) to (heads, length, head).
  Tensor split(const Tensor& x, const Tensor& weight) const {
    return permute_dimensions(reshape(dot(x, weight), {-1, s_.heads, s_.head()}), {1, 0, 2});
  }
  Tensor query(const Tensor& x) const { return split(x, q_); }
  Tensor key(const Tensor& x) const { return split(x, k_); }
  Tensor value(const Tensor& x) const { return split(x, v_); }

  /// The output for the positions of `x`.
  Tensor output(const Tensor& x, const Tensor& keys, const Tensor& values) const {
    const double scale = 1 / std::sqrt(static_cast<double>(s_.head()));
    const Tensor scores = batch_dot(query(x), permute_dimensions(keys, {0, 2, 1})) * scale;
    const Tensor mixed = permute_dimensions(batch_dot(softmax(scores), values), {1, 0, 2});
    const Tensor y = normalised(x + dot(reshape(mixed, {-1, s_.width}), o_));
    return normalised(y + dot(relu(dot(y, first_)), second_));
  }

 private:
  static Tensor normalised(const Tensor& x) {
    const AxisOptions last{.axis = -1, .keepdims = true};
    return (x - mean(x, last)) / sqrt(var(x, last) + 1e-5);
  }

  LayerSizes s_;
  Tensor q_ = matrix(s_.width, s_.width), k_ = matrix(s_.width, s_.width);
  Tensor v_ = matrix(s_.width, s_.width), o_ = matrix(s_.width, s_.width);
  Tensor first_ = matrix(s_.width, s_.hidden), second_ = matrix(s_.hidden, s_.width);
};

/// Three dense layers of `width` on 1 .. 64 rows, in so many numbers of rows.
Row rotate_row(std::int64_t count, std::int64_t width) {
  double rows = 0;
  for (std::int64_t i = 1; i <= count; ++i) rows += static_cast<double>(64 * i / count);
  const auto w = static_cast<double>(width);
  return {text("rotate_", count),
          text("3 dense layers of ", width, " with relu, on ", count, " numbers of rows up to 64"),
          {.formula = "the matmuls", .operations = 3 * 2 * w * w * rows},
          [=] {
            const Tensor x = placeholder({.shape = {None, width}});
            Tensor y = x;
            for (int layer = 0; layer < 3; ++layer) y = relu(dot(y, matrix(width, width)));
            std::vector<std::vector<Array>> feeds;
            for (std::int64_t i = 1; i <= count; ++i) {
              feeds.push_back({drawn({64 * i / count, width})});
            }
            return rotating_work(function({x}, {y}), feeds);
          }};
}

Row encode_row(std::int64_t lengths, const LayerSizes& sizes) {
  double operations = 0;
  for (std::int64_t n = 1; n <= lengths; ++n) {
    operations += static_cast<double>(2 * n) * sizes.operations(2 * n);
  }
  return {"encode_64",
          text("a transformer layer of ", sizes.width, ", ", sizes.heads, " heads, hidden ",
               sizes.hidden, ", on ", lengths, " lengths up to ", 2 * lengths),
          {.formula = "the matmuls", .operations = operations},
          [=] {
            const Layer layer(sizes);
            const Tensor x = placeholder({.shape = {None, sizes.width}});
            const Tensor y = layer.output(x, layer.key(x), layer.value(x));
            std::vector<std::vector<Array>> feeds;
            for (std::int64_t n = 1; n <= lengths; ++n) {
              feeds.push_back({drawn({2 * n, sizes.width})});
            }
            return rotating_work(function({x}, {y}), feeds);
          }};
}

Row decode_row(std::int64_t length, const LayerSizes& sizes) {
  double operations = 0;
  for (std::int64_t n = 1; n <= length; ++n) operations += sizes.operations(n + 1);
  return {"decode_cache",
          text("a transformer layer of ", sizes.width, ", ", sizes.heads, " heads, hidden ",
               sizes.hidden, ": a position at a time, with a cache that grows from 1 to ", length),
          {.formula = "the matmuls", .operations = operations},
          [=] {
            const Layer layer(sizes);
            const Tensor x = placeholder({.shape = {1, sizes.width}});
            const Shape cached{sizes.heads, None, sizes.head()};
            const Tensor k = placeholder({.shape = cached}), v = placeholder({.shape = cached});
            const Tensor keys = concatenate({k, layer.key(x)}, {.axis = 1});
            const Tensor values = concatenate({v, layer.value(x)}, {.axis = 1});
            const auto cache = [&] { return drawn({sizes.heads, 1, sizes.head()}); };
            return growing_work(function({x, k, v}, {layer.output(x, keys, values), keys, values}),
                                {drawn({1, sizes.width}), cache(), cache()}, length);
          }};
}

}  // namespace

std::vector<Row> sizes_rows(bool tiny) {
  const LayerSizes sizes = tiny ? LayerSizes{8, 2, 12} : LayerSizes{128, 4, 512};
  std::vector<Row> rows;
  for (const std::int64_t count : {2, 8, 64}) rows.push_back(rotate_row(count, tiny ? 8 : 256));
  rows.push_back(decode_row(tiny ? 4 : 256, sizes));
  rows.push_back(encode_row(tiny ? 4 : 64, sizes));
  return rows;
}

}  // namespace kiln::bench
