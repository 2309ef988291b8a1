// Kills a rank at a random transfer of a training whose root writes checkpoints without pause.
#include "tests/distributed/fake/world/run_ranks.h"
#include "tests/support/build_folder.h"
#include "tests/support/catch.h"
#include "tests/support/has.h"
#include "tests/support/scratch.h"

#include <kiln/distributed.h>
#include <kiln/k.h>

#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <random>
#include <stdexcept>
#include <thread>

namespace K = kiln;
namespace D = kiln::distributed;

namespace kiln::testing {
namespace {

constexpr std::uint32_t kRanks = 3;

D::InitOptions options_of(const fake::Ranks& ranks, std::uint32_t rank) {
  D::InitOptions options{.communicator = build_folder() + "/lib/tests/libkilncomm_fake.so"};
  for (const auto& [key, value] : ranks.options(rank)) options.options[key] = value;
  return options;
}

/// Saves the variables again and again until it is destroyed.
class Checkpoints {
 public:
  Checkpoints(const std::string& file, const std::vector<K::Tensor>& variables)
      : thread_([this, file, variables] {
          while (!is_over_) K::save_weights(file, variables);
        }) {}
  ~Checkpoints() {
    is_over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

/// Throws unless the variables have the values of one step: equal ones everywhere.
void require_one_step(const K::Tensor& w, const K::Tensor& b) {
  const K::Array all = K::get_value(w);
  const float expected = K::get_value(b).item<float>();
  const auto is_equal = [&](float element) { return element == expected; };
  if (std::ranges::all_of(all.as<float>(), is_equal)) return;
  throw std::runtime_error("the checkpoint mixes two steps");
}

/// Trains from the checkpoint, if there is one. Returns the number of transfers until the end of
/// the training.
std::string train(fake::Ranks& ranks, std::uint32_t rank, const std::string& file) {
  K::set_backend("reference");
  const auto world = D::init(options_of(ranks, rank));
  const auto x = K::placeholder({.shape = {}});
  const auto w = K::zeros({10'000}, {.name = "w"});
  const auto b = K::zeros({}, {.name = "b"});
  const auto loss = K::sum(K::square(w - x)) + K::square(b - x);
  const auto g = D::gradients(loss, {w, b});
  const auto step =
      K::function({x}, {D::all_reduce(loss)},
                  {.updates = {K::update(w, w - 0.25 * g[0]), K::update(b, b - 0.25 * g[1])}});
  if (world.is_root() && std::filesystem::exists(file)) {
    K::load_weights(file, {w, b});
    require_one_step(w, b);
  }
  D::broadcast_variables({w, b});
  {
    std::optional<Checkpoints> checkpoints;
    if (world.is_root()) checkpoints.emplace(file, std::vector<K::Tensor>{w, b});
    for (int i = 0; i < 3; ++i) step({K::Array(1.f + rank)});
  }
  D::require_equal({w, b});
  return std::to_string(ranks.world().ranks[rank].transfers);
}

std::vector<fake::RankEnd> run(fake::Ranks& ranks, const std::string& file) {
  return ranks.run([&](std::uint32_t rank) { return train(ranks, rank, file); });
}

/// Trains without faults; returns the number of transfers.
std::uint64_t run_whole(const std::string& file) {
  fake::Ranks ranks({.ranks = kRanks});
  const auto ends = run(ranks, file);
  for (const auto& end : ends) CHECK(end == ends[0]);
  REQUIRE(ends[0].status == 0);
  return std::stoull(ends[0].text);
}

/// A survivor has an error that names the killed rank, unless the end of another survivor, whose
/// group is broken, has ended it, too.
void check_ends(const std::vector<fake::RankEnd>& ends, std::uint32_t killed) {
  const std::string text = "rank " + std::to_string(killed) + " was killed by signal 9";
  int errors = 0;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    INFO("rank " << rank << ": " << ends[rank]);
    const bool has_error = ends[rank].status == 1 && has(ends[rank].text, text);
    const bool is_ended = ends[rank].status == -SIGKILL;
    CHECK((is_ended || (rank != killed && has_error)));
    errors += has_error;
  }
  CHECK(errors > 0);
}

void kill_ranks(std::uint32_t times, std::uint64_t seed) {
  const Scratch scratch;
  const std::string file = scratch.path("checkpoint.safetensors");
  const std::uint64_t transfers = run_whole(file);
  std::mt19937_64 random(seed);
  std::uint32_t interrupted = 0;  // saves
  for (std::uint32_t i = 0; i < times; ++i) {
    const std::uint32_t killed = i % kRanks;
    const std::uint64_t transfer = random() % (transfers - 1);
    INFO("run " << i << ": rank " << killed << " is killed in transfer " << transfer);
    if (random() % 4 == 0) std::filesystem::remove(file);
    fake::Ranks ranks({.ranks = kRanks, .seed = random()});
    ranks.world().ranks[killed].fault = {fake::Fault::Kind::Kill, transfer};
    check_ends(run(ranks, file), killed);
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // no process is left
    if (scratch.files() > (std::filesystem::exists(file) ? 1u : 0u)) ++interrupted;
  }
  CHECK(interrupted > 0);
  CHECK(run_whole(file) == transfers);
  CHECK(scratch.files() == 1);
}

}  // namespace

TEST_CASE("faults: a rank that is killed ends the others and leaves a whole checkpoint") {
  kill_ranks(50, 1);
}

TEST_CASE("faults: 200 ranks that are killed", "[matrix]") { kill_ranks(200, 2); }

}  // namespace kiln::testing
