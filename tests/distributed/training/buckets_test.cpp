// KILN_DISTRIBUTED_BUCKET changes how many collectives run, and no bit; the dump lists them.
#include "tests/distributed/training/models.h"
#include "tests/support/catch.h"
#include "tests/support/environment.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <regex>

namespace kiln::testing {
namespace {

namespace D = distributed;

/// Means of 11 gradients of 1 KiB and their loss; rows of the dump.
std::string train_wide(const D::Session& world, const std::string& folder) {
  const Tensor x = placeholder({.shape = {None, 16}, .name = "x"});
  std::vector<Tensor> weights;
  Tensor h = x;
  for (int i = 0; i < 11; ++i) {
    weights.push_back(random_normal_variable({16, 16}, 0, 0.3, {.name = "w", .seed = i}));
    h = tanh(dot(h, weights.back()));
  }
  const Tensor loss = mean(square(h));
  std::vector<UpdateOp> updates;
  const Results<Tensor> gradients = D::gradients(loss, weights);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    updates.push_back(update_sub(weights[i], gradients[i]));
  }
  const Function train =
      function({x}, {D::all_reduce(loss, {.reduction = D::Reduction::Mean})},
               {.updates = updates, .dump = folder, .dump_stages = Stage::Collectives});
  for (int step = 0; step < 2; ++step) {
    train({rows_of_step(step, 3 * world.rank(), 3 * world.rank() + 3, {16})});
  }
  return bits_of(weights);
}

struct BucketSize {
  std::optional<std::string> bytes;
  const char* numbers;  // of the rows of the dump
};

const BucketSize kBucketSizes[] = {
    {"0", "0 1 2 3 4 5 6 7 8 9 10 11"},
    {"1", "0 1 2 3 4 5 6 7 8 9 10 11"},
    {"4096", "0 0 0 0 1 1 1 1 2 2 2 2"},
    {std::nullopt, "0 0 0 0 0 0 0 0 0 0 0 0"},
};

/// The numbers of the dump's rows.
std::string numbers_of(const std::string& dump) {
  std::string numbers;
  std::istringstream lines(dump);
  std::string line;
  for (std::getline(lines, line); std::getline(lines, line);) {
    numbers += (numbers.empty() ? "" : " ") + line.substr(0, line.find(' '));
  }
  return numbers;
}

TEST_CASE("buckets: equal bits in as many collectives as the size gives") {
  const Scratch scratch;
  const auto texts = texts_of_ranks(2, "cpu", [&](const D::Session& world) {
    std::string first, lines;
    for (const BucketSize& row : kBucketSizes) {
      const EnvironmentVariable bucket("KILN_DISTRIBUTED_BUCKET", row.bytes);
      const std::string folder =
          scratch.path(row.bytes.value_or("unset")) + std::to_string(world.rank());
      const std::string bits = train_wide(world, folder);
      if (first.empty()) first = bits;
      lines += numbers_of(contents_of(folder + "/41-collectives.txt")) +
               (bits == first ? "\n" : " other bits\n");
    }
    return lines;
  });
  std::string expected;
  for (const BucketSize& row : kBucketSizes) expected += std::string(row.numbers) + "\n";
  for (const std::string& text : texts) CHECK(text == expected);
}

TEST_CASE("buckets: the dump has a row for each collective of the graph") {
  const Scratch scratch;
  const auto texts = texts_of_ranks(2, "reference", [&](const D::Session& world) {
    const Tensor x = placeholder({.shape = {None, 2}, .name = "x"});
    const Tensor fixed = placeholder({.shape = {2, 2}, .name = "fixed"});
    const std::string folder = scratch.path(std::to_string(world.rank()));
    const std::vector<Tensor> outputs = {
        D::all_reduce(sum(x)), D::all_reduce(x * 2, {.reduction = D::Reduction::Max}),
        D::all_gather(fixed * 3, {.axis = 1}), D::reduce_scatter(fixed * 4),
        D::broadcast(fixed * 5, {.root = 1})};
    static_cast<void>(
        function({x, fixed}, outputs, {.dump = folder, .dump_stages = Stage::Collectives}));
    return std::regex_replace(contents_of(folder + "/41-collectives.txt"),
                              std::regex("[^ ]*/(buckets_test.cpp):[0-9]+"), "$1");
  });
  const std::string expected =
      "# number  collective  operand  bytes  source\n"
      "0  all_reduce sum  float32[]  4  buckets_test.cpp\n"
      "1  all_reduce max  float32[x.0,2]  ?  buckets_test.cpp\n"
      "2  all_gather axis 1  float32[2,2]  16  buckets_test.cpp\n"
      "3  reduce_scatter axis 0  float32[2,2]  16  buckets_test.cpp\n"
      "4  broadcast of rank 1  float32[2,2]  16  buckets_test.cpp\n";
  for (const std::string& text : texts) CHECK(text == expected);
}

TEST_CASE("buckets: a size that is no number is an error of function") {
  for (const std::string& text : texts_of_ranks(2, "reference", [](const D::Session&) {
         std::string faults;
         for (const std::string bytes : {"4k", "-1", " 8", "99999999999999999999", ""}) {
           const EnvironmentVariable bucket("KILN_DISTRIBUTED_BUCKET", bytes);
           std::string found = "accepted";
           try {
             static_cast<void>(function({}, {D::all_reduce(constant(1.))}));
           } catch (const ConfigError& error) {
             found = error.message();
           }
           const std::string error =
               "function: KILN_DISTRIBUTED_BUCKET is '" + bytes + "' but must be a number of bytes";
           if (found != (bytes.empty() ? "accepted" : error)) faults += found + "\n";
         }
         return faults;
       })) {
    CHECK(text == "");
  }
}

}  // namespace
}  // namespace kiln::testing
