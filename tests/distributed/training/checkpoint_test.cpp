// Checkpoint in a group: the root's file, restored on any number of ranks.
#include "tests/distributed/training/models.h"
#include "tests/support/catch.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

namespace kiln::testing {
namespace {

namespace D = distributed;
namespace fs = std::filesystem;

/// A folder of each rank, as if its disk were not shared.
std::string file_of(const Scratch& scratch, const D::Group& world) {
  const std::string folder = scratch.path("rank" + std::to_string(world.rank()));
  fs::create_directories(folder);
  return folder + "/run.safetensors";
}

/// Trains up to step `end`, restored from a file if there is one, and saves it.
std::string train(const Scratch& scratch, const D::Session& world, int end) {
  set_random_seed(3);
  const Model model = dense_model({});
  int step = 0;
  double loss = 0;
  const Checkpoint checkpoint(
      file_of(scratch, world),
      {.variables = {model.variables}, .numbers = {{"step", &step}, {"loss", &loss}}});
  const bool is_restored = checkpoint.restore_if_exists();
  const int begin = step;
  for (; step < end; ++step) loss = model.train(world, step, 24);
  checkpoint.save();
  return (is_restored ? "from " : "new ") + std::to_string(begin) + " loss " +
         std::to_string(loss) + "\n" + bits_of(model.variables);
}

TEST_CASE("checkpoint: training goes on with the same bits on other numbers of ranks") {
  const Scratch whole;
  const auto run = [](const Scratch& scratch, std::uint32_t ranks, int end) {
    return texts_of_ranks(ranks, "reference",
                          [&](const D::Session& world) { return train(scratch, world, end); });
  };
  const std::string uninterrupted = run(whole, 4, 6)[0];
  CHECK_THAT(uninterrupted, Catch::Matchers::StartsWith("new 0 "));
  const std::string expected = "from 3" + uninterrupted.substr(5);
  for (const std::uint32_t ranks : {4u, 2u, 1u, kAlone}) {
    const Scratch scratch;
    for (const std::string& text : run(scratch, 4, 3)) {
      CHECK_THAT(text, Catch::Matchers::StartsWith("new 0 "));
    }
    CHECK(fs::exists(scratch.path("rank0/run.safetensors")));
    CHECK_FALSE(fs::exists(scratch.path("rank1/run.safetensors")));
    for (const std::string& text : run(scratch, ranks, 6)) CHECK(text == expected);
  }
}

TEST_CASE("checkpoint: numbers and random states are restored on all ranks") {
  const Scratch scratch;
  const auto texts = texts_of_ranks(3, "reference", [&](const D::Session& world) {
    const RandomState state(7);
    const Function draw = function({}, {random_uniform({8}, {.seed = 1})}, {.random = state});
    std::int64_t count = 5;
    double half = 0.5;
    const Tensor w = variable({1.f}, {.name = "w"});
    const Checkpoint checkpoint(
        file_of(scratch, world),
        {.variables = {w}, .numbers = {{"count", &count}, {"half", &half}}, .random = {state}});
    draw();
    checkpoint.save();
    const Array expected = draw()[0];
    count = -1, half = 0;
    set_value(w, {9.f});
    draw();
    checkpoint.restore();
    return std::to_string(count) + " " + std::to_string(half) + " " +
           std::to_string(get_value(w).item<float>()) +
           (draw()[0] == expected ? " same draws" : " other draws");
  });
  for (const std::string& text : texts) CHECK(text == "5 0.500000 1.000000 same draws");
}

/// The texts of a call of the checkpoint on the ranks, after which w is as before.
struct Failure {
  const char* name;
  void (*prepare)(const Scratch& scratch);
  std::string (*call)(const Checkpoint& checkpoint);
  std::vector<std::string> texts;
};

std::string restore(const Checkpoint& checkpoint) {
  return error_of([&] { checkpoint.restore(); });
}
std::string save(const Checkpoint& checkpoint) {
  return error_of([&] { checkpoint.save(); });
}
std::string restore_if_exists(const Checkpoint& checkpoint) {
  bool has = false;
  const std::string error = error_of([&] { has = checkpoint.restore_if_exists(); });
  return error + (has ? " true" : " false");
}

void write_other_rank(const Scratch& scratch) {
  fs::create_directories(scratch.path("rank1"));
  scratch.write("rank1/run.safetensors", "not read");
}
void write_damaged(const Scratch& scratch) {
  fs::create_directories(scratch.path("rank0"));
  scratch.write("rank0/run.safetensors", "damaged");
}
void block_folder(const Scratch& scratch) { scratch.write("blocked", ""); }

const std::string kAbsent = "/rank0/run.safetensors cannot be opened: No such file or directory";
const std::string kUnwritable =
    "/absent/run.safetensors cannot be written: No such file or directory";
const std::string kDamaged = " is truncated: it has 7 bytes but starts with a length of 8";

const std::vector<Failure> kFailures = {
    {"no file",
     write_other_rank,
     restore,
     {kAbsent, "rank 0 failed: Checkpoint::restore: " + kAbsent +
                   " [checkpoint_test.cpp:N]; what other ranks did stays"}},
    {"no file, which may be",
     write_other_rank,
     restore_if_exists,
     {"accepted false", "accepted false"}},
    {"damaged",
     write_damaged,
     restore,
     {"/rank0/run.safetensors" + kDamaged, "rank 0's /rank1/run.safetensors" + kDamaged}},
    {"damaged, which may be absent",
     write_damaged,
     restore_if_exists,
     {"/rank0/run.safetensors" + kDamaged + " false",
      "rank 0's /rank1/run.safetensors" + kDamaged + " false"}},
    {"cannot write",
     block_folder,
     save,
     {kUnwritable, "rank 0 failed: Checkpoint::save: " + kUnwritable +
                       " [checkpoint_test.cpp:N]; what other ranks did stays"}},
};

TEST_CASE("checkpoint: failures of the root's file are errors on all ranks") {
  for (const Failure& row : kFailures) {
    INFO(row.name);
    const Scratch scratch;
    row.prepare(scratch);
    std::vector<std::string> texts = texts_of_ranks(2, "reference", [&](const D::Session& world) {
      const bool is_blocked = fs::exists(scratch.path("blocked"));
      const Tensor w = variable({1.f}, {.name = "w"});
      const Checkpoint checkpoint(
          is_blocked ? scratch.path("absent/run.safetensors") : file_of(scratch, world),
          {.variables = {w}});
      const std::string text = row.call(checkpoint);
      world.barrier();  // the group goes on
      return text + (get_value(w).item<float>() == 1 ? "" : "; w has changed");
    });
    for (std::string& text : texts) {
      for (std::size_t at; (at = text.find(scratch.folder())) != text.npos;) {
        text.replace(at, scratch.folder().size(), "");
      }
    }
    CHECK(texts == row.texts);
  }
}

}  // namespace
}  // namespace kiln::testing
