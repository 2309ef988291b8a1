// Rows of language models: word vectors, attention.
#include "tools/kiln/bench/models.h"
#include "tools/kiln/bench/rows.h"

#include "core/types/text.h"

namespace kiln::bench {
namespace {

/// `table`: the rows and columns of both tables.
struct SkipGramSizes {
  Ints table;
  std::int64_t batch, negatives;
};

/// Word vectors by negative sampling (Mikolov et al. 2013, "Distributed Representations of Words
/// and Phrases"), with a step of SGD.
Row skip_gram(const std::string& name, const SkipGramSizes& s) {
  const double elements = static_cast<double>(s.batch * (2 + s.negatives) * s.table[1]);
  return {name,
          text("skip-gram, tables of ", join_text(s.table, " x "), ", batch ", s.batch, ", ",
               s.negatives, " negatives, SGD step"),
          copy_limit("the rows read twice and written once, 12 B an element", 12 * elements),
          [=] {
            WorkBuilder builder(Memory::Host);
            const auto words = [&](const Ints& dims) {
              return builder.input(drawn_classes(dims, s.table[0]));
            };
            const auto table = [&] {
              return random_uniform_variable({s.table[0], s.table[1]}, -0.05, 0.05);
            };
            const Tensor centers = table(), contexts = table();
            const Tensor center = expand_dims(gather(centers, words({s.batch})), {.axis = 1});
            const auto scores = [&](const Ints& dims) {
              return sum(center * gather(contexts, words(dims)), {.axis = 2});
            };
            const Tensor loss = mean(softplus(-scores({s.batch, 1}))) +
                                mean(sum(softplus(scores({s.batch, s.negatives})), {.axis = 1}));
            const std::vector<Tensor> tables{centers, contexts};
            return builder.work({loss}, sgd_updates(tables, gradients(loss, tables)));
          },
          Timing::Steady,
          "KILN_DUMP=timings, AVX2, 1 thread: writing the rows of both tables is 47 %, scores of "
          "the negatives with their slopes 33 %, joining the slopes of both lookups 8 %"};
}

Ints of_queries(const AttentionSizes& s) { return {s.heads, s.queries, s.depth}; }
Ints of_keys(const AttentionSizes& s) { return {s.heads, s.keys, s.depth}; }

/// Of that many matmuls; a causal attention needs half of the scores.
double operations(const AttentionSizes& s, int matmuls) {
  const double scores = static_cast<double>(s.heads * s.queries * s.keys) * (s.causal ? 0.5 : 1.0);
  return 2 * matmuls * scores * static_cast<double>(s.depth);
}

std::string described(const AttentionSizes& s) {
  return text(s.causal ? "causal " : "", "attention of ", s.heads, " heads: queries ", s.queries,
              ", keys ", s.keys, ", depth ", s.depth);
}

Row attention_row(const std::string& name, const AttentionSizes& s) {
  Limit limit{.formula = "two matmuls at the peak", .operations = operations(s, 2)};
  if (s.queries == 1) {
    limit = copy_limit("keys and values read once", 8 * static_cast<double>(elements(of_keys(s))));
  }
  return {name, described(s), limit, [=] {
            WorkBuilder builder(Memory::Host);
            const Tensor q = builder.input(drawn(of_queries(s)));
            const Tensor k = builder.input(drawn(of_keys(s))), v = builder.input(drawn(of_keys(s)));
            return builder.work({dot_product_attention(q, k, v, {.causal = s.causal})});
          }};
}

}  // namespace

Row attention_train(const std::string& name, const AttentionSizes& s, DType dtype, Memory memory) {
  Limit limit{.formula = "six matmuls at the peak of float32", .operations = operations(s, 6)};
  const std::string of = dtype == DType::Float32 ? "" : text(" in ", dtype);
  return {name, described(s) + of + ", with the gradients of sum(o w)", limit, [=] {
            WorkBuilder builder(memory);
            const auto input = [&](const Ints& dims) {
              return builder.input(drawn(dims).astype(dtype));
            };
            const Tensor q = input(of_queries(s)), k = input(of_keys(s)), v = input(of_keys(s));
            const Tensor o = dot_product_attention(q, k, v, {.causal = s.causal});
            std::vector<Tensor> results = gradients(sum(o * input(of_queries(s))), {q, k, v});
            results.push_back(o);
            return builder.work(results);
          }};
}

std::vector<Row> language_rows(bool tiny) {
  const auto skip_gram_of = [&](const std::string& name, const SkipGramSizes& sizes) {
    return skip_gram(name, tiny ? SkipGramSizes{{20, 8}, 6, 3} : sizes);
  };
  const auto sizes = [&](const AttentionSizes& s) {
    return tiny ? AttentionSizes{2, s.queries == 1 ? 1 : 6, 6, 4, s.causal} : s;
  };
  return {skip_gram_of("skip_gram", {{100000, 128}, 1024, 5}),
          skip_gram_of("skip_gram_wide", {{20000, 300}, 256, 10}),
          attention_row("attention_1024", sizes({8, 1024, 1024, 64, false})),
          attention_row("attention_4096_causal", sizes({2, 4096, 4096, 64, true})),
          attention_train("attention_train_1024", sizes({8, 1024, 1024, 64, true}), DType::Float32,
                          Memory::Host),
          attention_train("attention_train_128", sizes({32, 128, 128, 64, false}), DType::Float32,
                          Memory::Host),
          attention_row("attention_one_query", sizes({32, 1, 4096, 64, false}))};
}

}  // namespace kiln::bench
