// The cost model against rows computed by hand, with round numbers, and against a table of three
// machines and three models. That it counts what is sent is tested in tests/distributed/group.
#include "tests/support/catch.h"

#include "runtime/distributed/cost_model.h"

#include <vector>

using namespace kiln;
using namespace kiln::runtime::distributed;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// A rank of a node of two sends 1 MiB a second within it, and half of that to other nodes.
constexpr Machine kSlow{.latency = 0.25,
                        .bandwidth = kMiB,
                        .node_bandwidth = kMiB,
                        .addition = 1.0 / kMiB,
                        .ranks_per_node = 2};

/// Seconds of kSlow for 4 messages and 3 * 64 bytes; of the slowest of 4 ranks, sqrt(2 ln 4) %.
constexpr double kAgreement = 1 + 168.0 / (kMiB / 2), kLate = 0.01665109222;

std::vector<Summand> equal_summands(std::size_t count, std::size_t bytes) {
  return std::vector<Summand>(count, {DType::Float32, Reduction::Sum, bytes});
}

}  // namespace

TEST_CASE("cost model: messages and bytes of one rank") {
  struct Row {
    std::vector<std::size_t> levels;
    Summand summand;
    TransferCount sent;
  };
  constexpr Reduction kSum = Reduction::Sum;
  const std::vector<Row> rows = {
      {{1}, {DType::Float32, kSum, kMiB}, {0, 0}},
      {{8}, {DType::Float32, kSum, 0}, {0, 0}},
      {{8}, {DType::Float32, kSum, 8192}, {7, 7 * 8192}},  // an all-gather
      {{8}, {DType::Float32, kSum, 8196}, {14, 14 * 257 * 4}},  // 2049 elements, padded to 2056
      {{4, 2}, {DType::Float32, kSum, kMiB}, {8, 7 * kMiB / 4}},
      {{4, 2}, {DType::Float16, kSum, kMiB}, {8, 15 * kMiB / 8}},  // partial sums are float32
      {{4, 2}, {DType::Float16, Reduction::Max, kMiB}, {8, 7 * kMiB / 4}},
      {{16, 16, 2}, {DType::Float32, kSum, kMiB}, {62, 511 * kMiB / 256}},
      {{2}, {DType::Float32, kSum, 65 * kMiB}, {6, 65 * kMiB}},  // three chunks
  };
  for (const Row& row : rows) {
    CAPTURE(row.levels, row.summand.bytes);
    CHECK(all_reduce_work(row.levels, row.summand).sent() == row.sent);
  }
}

// On kSlow, an all-reduce of 1 MiB over 4 ranks: 4 messages, 1 s. In the node, 1/2 MiB to the other
// rank and back, 1 s, and 1 MiB added, 1 s; between nodes 1/4 MiB and back, 1 s, and 1/2 MiB added,
// 0.5 s.
TEST_CASE("cost model: seconds of a step") {
  struct Row {
    double computation;
    std::optional<std::size_t> bucket;
    double step, one_bucket;  // without the slowest rank's delay
    std::size_t buckets;
    Bottleneck bottleneck;
  };
  // Of four tensors of 1 MiB, A = 1 s and n B = 14 s: buckets of 4 MiB / sqrt(14) = 1.07 MiB.
  const std::vector<Row> rows = {
      {300, {}, 304.5, 315, 4, Bottleneck::Bandwidth},  // ready at 150, 200, 250, 300 s
      {300, 2 * kMiB, 308, 315, 2, Bottleneck::Bandwidth},  // 1 + 7 s each
      {300, 3 * kMiB, 304.5, 315, 2, Bottleneck::Bandwidth},
      {300, 1, 304.5, 315, 4, Bottleneck::Bandwidth},
      {3, {}, 1.5 + 4 * 4.5, 18, 4, Bottleneck::Bandwidth},  // the first is ready at 1.5 s
      {3000, {}, 3004.5, 3015, 4, Bottleneck::Slowest},
  };
  for (const Row& row : rows) {
    CAPTURE(row.computation, row.bucket.value_or(0));
    const Step step{row.computation, equal_summands(4, kMiB)};
    const Scaling scaling = scaling_of(kSlow, step, 4, row.bucket);
    const double lost = kAgreement + kLate * row.computation;
    CHECK(row.computation / scaling.efficiency == Approx(row.step + lost).epsilon(0).margin(1e-4));
    CHECK(row.computation / scaling.one_bucket_efficiency ==
          Approx(row.one_bucket + lost).epsilon(0).margin(1e-4));
    CHECK(scaling.buckets == row.buckets);
    CHECK(scaling.sent == TransferCount{4 * row.buckets, 4 * 3 * kMiB / 2});
    CHECK(scaling.bottleneck == row.bottleneck);
  }
  CHECK(scaling_of(kSlow, {1, equal_summands(4, kMiB)}, 4).bucket_bytes == 1120974);
}

TEST_CASE("cost model: the bottleneck") {
  const auto bottleneck_of = [](const Machine& machine) {
    return scaling_of(machine, {1, equal_summands(4, kMiB)}, 4).bottleneck;
  };
  Machine machine{.latency = 1e-9, .bandwidth = 1e15, .node_bandwidth = 1e15};
  CHECK(bottleneck_of(machine) == Bottleneck::Slowest);
  machine.addition = 1e-6;
  CHECK(bottleneck_of(machine) == Bottleneck::Addition);
  machine.bandwidth = 1e3;
  CHECK(bottleneck_of(machine) == Bottleneck::Bandwidth);
  machine.latency = 1e4;
  CHECK(bottleneck_of(machine) == Bottleneck::Latency);
}

TEST_CASE("cost model: buckets have one dtype and one reduction") {
  const std::vector<Summand> summands = {{DType::Float32, Reduction::Sum, kMiB},
                                         {DType::Float16, Reduction::Sum, kMiB},
                                         {DType::Float32, Reduction::Sum, kMiB},
                                         {DType::Float32, Reduction::Max, kMiB},
                                         {DType::Float16, Reduction::Sum, kMiB}};
  // Only neighbours are merged, as in the runtime.
  CHECK(scaling_of(kSlow, {1, summands}, 4, 8 * kMiB).buckets == 5);
  CHECK(scaling_of(kSlow, {1, {summands[0], summands[2]}}, 4, 8 * kMiB).buckets == 1);
  CHECK(scaling_of(kSlow, {1, {summands[0], summands[2]}}, 4, kMiB).buckets == 2);
}

TEST_CASE("cost model: ranks of one node use no port") {
  const Machine machine{.bandwidth = 1, .node_bandwidth = 1e15, .ranks_per_node = 8};
  const Step step{1, equal_summands(1, kMiB)};
  CHECK(scaling_of(machine, step, 6).efficiency > 0.97);
  CHECK(scaling_of(machine, step, 8).efficiency > 0.97);
  CHECK(scaling_of(machine, step, 9).efficiency < 0.01);
}

TEST_CASE("cost model: efficiency of three models on three machines") {
  struct Model {
    std::size_t bytes;
    double seconds;
  };
  const Model lstm{2'300'000, 0.03}, resnet{102'000'000, 0.12}, large{2'000'000'000, 0.6};
  const Machine tcp{
      .latency = 30e-6, .bandwidth = 1.25e9, .node_bandwidth = 1.25e9, .addition = 1.25e-10};
  const Machine nodes_of_4{.latency = 3e-6,
                           .bandwidth = 12.5e9,
                           .node_bandwidth = 5e9,
                           .addition = 1.25e-10,
                           .ranks_per_node = 4};
  const Machine gpus{.latency = 8e-6,
                     .bandwidth = 400e9,
                     .node_bandwidth = 400e9,
                     .addition = 1e-12,
                     .ranks_per_node = 8};
  struct Row {
    const Machine& machine;
    const Model& model;
    double percent[4][2];  // of 8, 64, 512 and 4096 ranks: best buckets, one bucket
    double one_bucket_margin = 2;
  };
  const std::vector<Row> rows = {
      {tcp, lstm, {{93, 86}, {88, 83}, {87, 80}, {78, 78}}},
      {tcp, resnet, {{57, 43}, {50, 40}, {48, 40}, {47, 39}}},
      {tcp, large, {{18, 16}, {16, 15}, {16, 15}, {16, 15}}},
      {nodes_of_4, lstm, {{98, 94}, {96, 93}, {96, 92}, {95, 91}}},
      {nodes_of_4, resnet, {{97, 68}, {95, 65}, {94, 64}, {93, 64}}},
      {nodes_of_4, large, {{46, 36}, {41, 33}, {41, 32}, {40, 32}}},
      {gpus, resnet, {{98, 97}, {97, 96}, {96, 95}, {95, 95}}},
      // One message carries a whole bucket in the table; here, chunks of 32 MiB have their own.
      {gpus, large, {{98, 96}, {97, 94}, {96, 93}, {96, 93}}, 6},
  };
  constexpr std::size_t kTensors = 200;
  for (const Row& row : rows) {
    const Step step{row.model.seconds, equal_summands(kTensors, row.model.bytes / kTensors)};
    std::size_t ranks = 1;
    for (const auto& [best, one] : row.percent) {
      ranks *= 8;
      CAPTURE(row.machine.latency, row.model.bytes, ranks);
      const Scaling scaling = scaling_of(row.machine, step, ranks);
      CHECK(100 * scaling.efficiency == Approx(best).margin(2));
      CHECK(100 * scaling.one_bucket_efficiency == Approx(one).margin(row.one_bucket_margin));
    }
  }
}
