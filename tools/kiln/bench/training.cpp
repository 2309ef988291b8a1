// The rows of MLPs and of CTC, and the optimiser steps.
#include "tools/kiln/bench/models.h"
#include "tools/kiln/bench/rows.h"

#include "core/types/counted.h"
#include "core/types/text.h"

namespace kiln::bench {
namespace {

double weight_count(const Ints& sizes) {
  double count = 0;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    count += static_cast<double>((sizes[i] + 1) * sizes[i + 1]);
  }
  return count;
}

}  // namespace

double step_operations(const Ints& sizes, std::int64_t batch) {
  double operations = 0;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    const double matmul = 2 * static_cast<double>(batch * sizes[i] * sizes[i + 1]);
    operations += matmul * (i == 0 ? 2 : 3);
  }
  return operations;
}

Row mlp_adam(std::int64_t batch, const Ints& sizes, Memory memory) {
  Limit limit{.formula =
                  "matmuls at the peak + Adam: 3 arrays read and written in place, 24 B a "
                  "weight",
              .operations = step_operations(sizes, batch),
              .reads = 3,
              .writes = 3,
              .floats = static_cast<std::size_t>(weight_count(sizes)),
              .in_place = true};
  return {"mlp_adam",
          text(join_text(sizes, "-"), ", batch ", batch, ", softmax cross-entropy, Adam step"),
          limit,
          [=] {
            WorkBuilder builder(memory);
            const Tensor x = builder.input(drawn({batch, sizes.front()}));
            const Tensor y = builder.input(drawn_classes({batch}, sizes.back()));
            const Mlp net = mlp(x, sizes);
            const Tensor loss =
                mean(sparse_categorical_crossentropy(y, net.output, {.from_logits = true}));
            return builder.work({loss}, adam_updates(net.weights, gradients(loss, net.weights)));
          },
          Timing::Steady,
          "KILN_DUMP=timings, AVX2, 1 thread: five matmuls are 88 %, at 120 to 128 GFLOP/s (half "
          "of the peak with AVX-512 is 126 to 131), Adam's updates 9 %"};
}

Row mlp_train_f64(std::int64_t batch, const Ints& sizes) {
  // An operation of float64 counts as two of float32, and so does a number in memory.
  Limit limit{.formula =
                  "matmuls at the peak of float64 + a read and a write of the weights, 16 B "
                  "each",
              .operations = 2 * step_operations(sizes, batch),
              .reads = 1,
              .writes = 1,
              .floats = 2 * static_cast<std::size_t>(weight_count(sizes)),
              .in_place = true};
  return {"mlp_train_f64",
          text("float64 ", join_text(sizes, "-"), ", batch ", batch,
               ", softmax cross-entropy, SGD step"),
          limit, [=] {
            WorkBuilder builder(Memory::Host);
            const Tensor x = builder.input(drawn({batch, sizes.front()}).astype(DType::Float64));
            const Tensor y = builder.input(drawn_classes({batch}, sizes.back()));
            const Mlp net = mlp(x, sizes);
            const Tensor loss =
                mean(sparse_categorical_crossentropy(y, net.output, {.from_logits = true}));
            return builder.work({loss}, sgd_updates(net.weights, gradients(loss, net.weights)));
          }};
}

Row mlp_tiny(std::int64_t batch, const Ints& sizes, Memory memory) {
  Limit limit{.formula = "matmuls at the peak + a bare call",
              .operations = step_operations(sizes, batch),
              .bare_call = true};
  return {"mlp_tiny",
          text(join_text(sizes, "-"), ", batch ", batch, ", mean squared error, SGD step"), limit,
          [=] {
            WorkBuilder builder(memory);
            const Tensor x = builder.input(drawn({batch, sizes.front()}));
            const Tensor y = builder.input(drawn({batch, sizes.back()}));
            const Mlp net = mlp(x, sizes);
            const Tensor loss = mean(square(net.output - y));
            return builder.work({loss}, sgd_updates(net.weights, gradients(loss, net.weights)));
          }};
}

Row embedding_train(const Ints& table, std::int64_t indices, Memory memory) {
  const double bytes = 4 * static_cast<double>(indices * table[1]);
  return {"embedding_train",
          text("mean square of ", indices, " rows of an embedding of ", join_text(table, " x "),
               ", SGD step"),
          copy_limit("the rows read twice and written once, 12 B an element", 3 * bytes), [=] {
            WorkBuilder builder(memory);
            const Tensor rows = random_uniform_variable({table[0], table[1]}, -0.05, 0.05);
            const Tensor x = builder.input(drawn_classes({indices}, table[0]));
            const Tensor loss = mean(square(gather(rows, x)));
            return builder.work({loss}, sgd_updates({rows}, gradients(loss, {rows})));
          }};
}

Row ctc_train(const CtcSizes& s, Memory memory) {
  const double cells = static_cast<double>(s.samples * s.time * (2 * s.labels + 1));
  Limit limit{.formula =
                  "forward and backward: 30 operations for each of 3 exps and a log a state "
                  "and step",
              .operations = 2 * cells * 4 * 30};
  return {"ctc_train",
          text("CTC loss of softmax, T=", s.time, ", batch ", s.samples, ", ", s.classes,
               " classes, ", s.labels, " labels: sum, and the gradient of the logits"),
          limit, [=] {
            WorkBuilder builder(memory);
            const auto all = [&](std::int64_t length) {
              return builder.input(
                  Array::full({s.samples, 1}, static_cast<double>(length), DType::Int32));
            };
            const Tensor logits = builder.input(drawn({s.samples, s.time, s.classes}));
            const Tensor y = builder.input(drawn_classes({s.samples, s.labels}, s.classes - 1));
            const Tensor steps = all(s.time), counts = all(s.labels);
            const Tensor loss = sum(ctc_batch_cost(y, softmax(logits), steps, counts));
            return builder.work({loss, gradients(loss, {logits})[0]});
          }};
}

Row adam_row(const std::string& name, std::int64_t variables, std::int64_t size, Memory memory) {
  Limit limit{.formula = "one pass: 4 arrays read, 3 of them written in place, 28 B a weight",
              .reads = 4,
              .writes = 3,
              .floats = static_cast<std::size_t>(variables * size),
              .in_place = true};
  const std::string arrays = counted(static_cast<std::uint64_t>(variables), "variable");
  return {name, text("one Adam step of ", arrays, " of ", size), limit, [=] {
            WorkBuilder builder(memory);
            std::vector<Tensor> weights, slopes;
            for (std::int64_t i = 0; i < variables; ++i) {
              weights.push_back(zeros({size}));
              slopes.push_back(builder.input(drawn({size})));
            }
            return builder.work({}, adam_updates(weights, slopes));
          }};
}

std::vector<Row> training_rows(bool tiny) {
  return {ctc_train(tiny ? CtcSizes{2, 6, 4, 2} : CtcSizes{32, 200, 40, 40}, Memory::Host),
          mlp_adam(tiny ? 4 : 64, tiny ? Ints{8, 6, 6, 3} : Ints{784, 512, 512, 10}, Memory::Host),
          mlp_tiny(8, {16, 32, 1}, Memory::Host),
          embedding_train(tiny ? Ints{20, 8} : Ints{100000, 128}, tiny ? 24 : 4096, Memory::Host)};
}

std::vector<Row> optimizer_rows(bool tiny) {
  Row one = adam_row("adam", 1, tiny ? 1000 : std::int64_t{16} << 20, Memory::Host);
  one.note = "at the limit of memory, 1.01 to 1.06 of one pass over the tensors";
  return {one, adam_row("adam_many", tiny ? 5 : 100, tiny ? 10 : 1000, Memory::Host)};
}

}  // namespace kiln::bench
