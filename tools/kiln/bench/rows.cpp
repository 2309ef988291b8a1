// The table of rows, and the rows that memory or the call itself bounds.
#include "tools/kiln/bench/rows.h"

#include "core/types/text.h"

namespace kiln::bench {
namespace {

Tensor ten_operations(const Tensor& a, const Tensor& b) {
  const Tensor u = (a + b) * a - b;
  const Tensor v = maximum(u, a) / b;
  const Tensor w = minimum(v, b) + u;
  return switch_(greater(w, a), w, v) * b;
}

}  // namespace

std::size_t elements(const Ints& dims) {
  std::size_t product = 1;
  for (const std::int64_t dim : dims) product *= static_cast<std::size_t>(dim);
  return product;
}

Limit copy_limit(const std::string& formula, double bytes) {
  Limit limit;
  limit.formula = "a copy of as many bytes: " + formula;
  limit.copied = bytes;
  return limit;
}

Row call_row() {
  Limit limit{.formula = "a bare call: two atomic counts, an indirect call, the 16 sums",
              .bare_call = true};
  return {"call", "f(x) = x + 1 on 16 floats through call_into", limit, [] {
            WorkBuilder builder(Memory::Host);
            return builder.work({builder.input(drawn({16})) + 1.0});
          }};
}

Row chain10(std::int64_t size, Memory memory) {
  Limit limit{.formula = "one pass: 2 arrays read, 1 written, 12 B an element",
              .reads = 2,
              .writes = 1,
              .floats = elements({size})};
  return {"chain10", text("+ * - max / min + > select * on ", size, " floats, 2 operands"), limit,
          [=] {
            WorkBuilder builder(memory);
            const Tensor a = builder.input(drawn({size}));
            const Tensor b = builder.input(drawn({size}, 0.5, 1.5));
            return builder.work({ten_operations(a, b)});
          }};
}

Row chain10_tanh(std::int64_t size, Memory memory) {
  Limit limit{.formula = "one pass: 3 arrays read, 1 written, 16 B an element",
              .reads = 3,
              .writes = 1,
              .floats = elements({size})};
  return {"chain10_tanh",
          text("0.5 x (1 + tanh(0.79788 (x + 0.044715 x^3))) a + b on ", size, " floats"),
          limit,
          [=] {
            WorkBuilder builder(memory);
            const Array value = drawn({size});
            const Tensor x = builder.input(value), a = builder.input(value);
            const Tensor b = builder.input(value);
            const Tensor inner = 0.79788 * (x + 0.044715 * x * x * x);
            return builder.work({0.5 * x * (1.0 + tanh(inner)) * a + b});
          },
          Timing::Steady,
          "AVX2: Kiln's tanh is within 2 units in the last place, JAX's is off by up to 4.6"};
}

Row outer_row(std::int64_t size) {
  const auto count = static_cast<std::size_t>(size);
  Limit limit{
      .formula = "one pass: 1 array written, 4 B an element", .writes = 1, .floats = count * count};
  return {"outer", text("outer product of two vectors of ", size), limit, [=] {
            WorkBuilder builder(Memory::Host);
            const Tensor column = builder.input(drawn({size, 1}));
            return builder.work({dot(column, builder.input(drawn({1, size})))});
          }};
}

Row softmax_row(const std::string& name, std::int64_t rows, std::int64_t columns, Memory memory) {
  const Ints dims{rows, columns};
  const double operations = 30.0 * static_cast<double>(elements(dims));
  Limit limit{.formula =
                  "one pass: 1 array read, 1 written, 8 B; + 30 operations (an exp) an "
                  "element",
              .operations = operations,
              .reads = 1,
              .writes = 1,
              .floats = elements(dims)};
  return {name,
          text("softmax of the rows of ", rows, " x ", columns),
          limit,
          [=] {
            WorkBuilder builder(memory);
            return builder.work({softmax(builder.input(drawn(dims)))});
          },
          Timing::Steady,
          memory == Memory::Host
              ? "on 2 threads, entering and leaving a parallel loop takes 0.8 to 1.1 us; with "
                "KILN_CPU_ISA=avx2, ONNX Runtime keeps AVX-512"
              : ""};
}

Row layernorm_train(std::int64_t rows, std::int64_t columns, Memory memory) {
  const Ints dims{rows, columns};
  Limit limit{.formula = "passes: 3 arrays read, 2 written, 20 B an element",
              .reads = 3,
              .writes = 2,
              .floats = elements(dims)};
  return {"layernorm_train",
          text("layer norm of ", rows, " x ", columns, " with scale and offset, forward and all ",
               "gradients"),
          limit, [=] {
            WorkBuilder builder(memory);
            const Tensor x = builder.input(drawn(dims)), dy = builder.input(drawn(dims));
            const Tensor scale = ones({dims[1]}), offset = zeros({dims[1]});
            const AxisOptions last{.axis = -1, .keepdims = true};
            const Tensor y = (x - mean(x, last)) / sqrt(var(x, last) + 1e-5) * scale + offset;
            std::vector<Tensor> outputs = gradients(sum(y * dy), {x, scale, offset});
            outputs.push_back(y);
            return builder.work(outputs);
          }};
}

std::vector<Row> elementwise_rows(bool tiny) {
  const std::int64_t large = tiny ? 1000 : std::int64_t{4} << 20;
  return {call_row(),
          chain10(large, Memory::Host),
          chain10_tanh(large, Memory::Host),
          outer_row(tiny ? 30 : 4096),
          softmax_row("softmax", tiny ? 8 : 8192, tiny ? 10 : 1000, Memory::Host),
          softmax_row("softmax_small", tiny ? 4 : 64, tiny ? 10 : 1000, Memory::Host),
          layernorm_train(tiny ? 8 : 8192, tiny ? 16 : 1024, Memory::Host)};
}

std::vector<Row> all_rows(bool tiny) {
  std::vector<Row> rows;
  for (auto make : {elementwise_rows, operation_rows, narrow_rows, recurrent_rows, language_rows,
                    sizes_rows, training_rows, image_rows, network_rows, optimizer_rows,
                    matmul_dtype_rows, halves_rows, compile_rows, first_step_rows}) {
    for (Row& row : make(tiny)) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace kiln::bench
