// Tests random orders of transfers in several groups: no rank that goes on is called a deadlock,
// and no missing transfer is a wait without end.
#include "tests/distributed/fake/fake_rank.h"
#include "tests/support/catch.h"

#include <deque>
#include <random>

using namespace kiln::fake;

namespace {

constexpr std::uint32_t kRanks = 4;
constexpr std::size_t kSteps = 40;

/// The same on all ranks, but for the members of the part.
struct Step {
  bool is_in_part;
  std::uint32_t kind, root;
  std::size_t bytes;
};

std::vector<Step> random_steps(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Step> steps;
  for (std::size_t i = 0; i < kSteps; ++i) {
    steps.push_back({.is_in_part = random() % 3 == 0,
                     .kind = static_cast<std::uint32_t>(random() % 3),
                     .root = static_cast<std::uint32_t>(random() % 2),
                     .bytes = random() % 4});
  }
  return steps;
}

/// Buffers of one transfer.
struct Buffers {
  ByteVector send, receive;
};

kiln_comm_work* start(const FakeRank& own, kiln_comm* comm, const Step& step, Buffers& buffers) {
  const std::uint32_t size = own.info(comm).size;
  const bool is_broadcast = step.kind == KILN_COMM_BROADCAST;
  buffers.receive.resize(is_broadcast ? step.bytes : step.bytes * size);
  if (is_broadcast) return own.start(comm, broadcast(step.root, buffers.receive));
  const bool is_all_to_all = step.kind == KILN_COMM_ALL_TO_ALL;
  buffers.send.resize(is_all_to_all ? step.bytes * size : step.bytes);
  if (is_all_to_all) return own.start(comm, all_to_all(buffers.send, buffers.receive, size));
  return own.start(comm, all_gather(buffers.send, buffers.receive));
}

/// Runs the steps without `skipped`, several at a time.
void run_steps(const FakeRank& own, std::uint32_t rank, const std::vector<Step>& steps,
               std::uint64_t seed, std::size_t skipped) {
  std::mt19937_64 random(seed + rank);
  kiln_comm* const part = own.split(own.world(), rank / 2, 0);
  std::deque<Buffers> buffers;
  std::vector<kiln_comm_work*> works;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i == skipped) continue;
    kiln_comm* const comm = steps[i].is_in_part ? part : own.world();
    works.push_back(start(own, comm, steps[i], buffers.emplace_back()));
    if (random() % 4 != 0) continue;
    own.wait(works);
    works.clear();
  }
  own.wait(works);
}

/// Runs the ranks, of which rank 1 skips that step, and returns the error of the world.
std::string error_of_ranks(std::uint64_t seed, std::size_t skipped) {
  Ranks ranks({.ranks = kRanks, .seed = seed, .ranks_per_host = 2});
  const std::vector<Step> steps = random_steps(seed);
  for (const RankEnd& end : ranks.run([&](std::uint32_t rank) {
         const FakeRank own(ranks, rank);
         std::string text =
             error_of([&] { run_steps(own, rank, steps, seed, rank == 1 ? skipped : kSteps); });
         const std::string of_close = error_of([&] { own.close(); });
         return text.empty() ? of_close : text;
       })) {
    CHECK(end.status == 0);
    if (end.text != "") CHECK(end.text == ranks.world().broken_text);
  }
  return ranks.world().broken_text;
}

}  // namespace

TEST_CASE("fake: random orders of transfers are no deadlock") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    CHECK(error_of_ranks(seed, kSteps) == "");
  }
}

TEST_CASE("fake: a rank that skips a transfer is an error in any order") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    CHECK(error_of_ranks(seed, 7 * seed % kSteps) != "");
  }
}
