// The table of rows, and the rows that memory or the call itself bounds.
#include "tools/kiln/bench/call.h"
#include "tools/kiln/bench/row.h"

#include "core/types/text.h"

namespace kiln::bench {
namespace {

using Ints = std::vector<std::int64_t>;

std::size_t elements(const Ints& dims) {
  std::size_t product = 1;
  for (const std::int64_t dim : dims) product *= static_cast<std::size_t>(dim);
  return product;
}

Tensor input(const Ints& dims) { return placeholder({.shape = dims}); }

Row call_row() {
  Limit limit{"a bare call: two atomic counts, an indirect call, the 16 sums", 0, 0, 0, 0, true};
  return {"call", "f(x) = x + 1 on 16 floats through call_into", limit, [] {
            const Tensor x = input({16});
            return call_of({x}, {x + 1.0}, {}, {drawn({16})});
          }};
}

Tensor ten_operations(const Tensor& a, const Tensor& b) {
  const Tensor u = (a + b) * a - b;
  const Tensor v = maximum(u, a) / b;
  const Tensor w = minimum(v, b) + u;
  return switch_(greater(w, a), w, v) * b;
}

Row chain10(std::int64_t size) {
  Limit limit{"one pass: 2 arrays read, 1 written, 12 B an element", 0, 2, 1, elements({size})};
  return {"chain10", text("+ * - max / min + > select * on ", size, " floats, 2 operands"), limit,
          [size] {
            const Tensor a = input({size}), b = input({size});
            return call_of({a, b}, {ten_operations(a, b)}, {},
                           {drawn({size}), drawn({size}, 0.5, 1.5)});
          }};
}

Row chain10_tanh(std::int64_t size) {
  Limit limit{"one pass: 3 arrays read, 1 written, 16 B an element", 0, 3, 1, elements({size})};
  return {"chain10_tanh",
          text("0.5 x (1 + tanh(0.79788 (x + 0.044715 x^3))) a + b on ", size, " floats"), limit,
          [size] {
            const Tensor x = input({size}), a = input({size}), b = input({size});
            const Tensor inner = 0.79788 * (x + 0.044715 * x * x * x);
            return call_of({x, a, b}, {0.5 * x * (1.0 + tanh(inner)) * a + b}, {},
                           {drawn({size}), drawn({size}), drawn({size})});
          }};
}

Row softmax_row(const std::string& name, std::int64_t rows, std::int64_t columns) {
  const Ints dims{rows, columns};
  const double operations = 30.0 * static_cast<double>(elements(dims));
  Limit limit{"one pass: 1 array read, 1 written, 8 B; + 30 operations (an exp) an element",
              operations, 1, 1, elements(dims)};
  return {name, text("softmax of the rows of ", rows, " x ", columns), limit, [dims] {
            const Tensor x = input(dims);
            return call_of({x}, {softmax(x)}, {}, {drawn(dims)});
          }};
}

Row layernorm_train(std::int64_t rows, std::int64_t columns) {
  const Ints dims{rows, columns};
  Limit limit{"passes: 3 arrays read, 2 written, 20 B an element", 0, 3, 2, elements(dims)};
  return {"layernorm_train",
          text("layer norm of ", rows, " x ", columns, " with scale and offset, forward and all ",
               "gradients"),
          limit, [dims] {
            const Tensor x = input(dims), dy = input(dims);
            const Tensor scale = ones({dims[1]}), offset = zeros({dims[1]});
            const AxisOptions last{.axis = -1, .keepdims = true};
            const Tensor y = (x - mean(x, last)) / sqrt(var(x, last) + 1e-5) * scale + offset;
            std::vector<Tensor> outputs = gradients(sum(y * dy), {x, scale, offset});
            outputs.push_back(y);
            return call_of({x, dy}, outputs, {}, {drawn(dims), drawn(dims)});
          }};
}

}  // namespace

std::vector<Row> elementwise_rows(bool tiny) {
  const std::int64_t large = tiny ? 1000 : std::int64_t{4} << 20;
  return {call_row(),
          chain10(large),
          chain10_tanh(large),
          softmax_row("softmax", tiny ? 8 : 8192, tiny ? 10 : 1000),
          softmax_row("softmax_small", tiny ? 4 : 64, tiny ? 10 : 1000),
          layernorm_train(tiny ? 8 : 8192, tiny ? 16 : 1024)};
}

std::vector<Row> all_rows(bool tiny) {
  std::vector<Row> rows;
  for (auto make : {elementwise_rows, recurrent_rows, training_rows, image_rows, optimizer_rows,
                    compile_rows}) {
    for (Row& row : make(tiny)) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace kiln::bench
