// Tests the errors of kiln/checkpoint.h: their texts, and that they change nothing.
#include "tests/support/catch.h"
#include "tests/support/misuse.h"
#include "tests/support/scratch.h"

#include <kiln/checkpoint.h>
#include <kiln/train.h>

namespace kiln {
namespace {

using testing::contents_of;
using testing::Misuse;
using testing::Scratch;
using testing::throws;

/// Restores a file into variables "w" and "b", numbers and a state; checks that none changes.
struct Restored {
  Variable w = variable(Array{1.f, 2.f}, {.name = "w"});
  Variable b = variable(Array{3.f}, {.name = "b"});
  int epoch = 4;
  double best = 0.5;
  RandomState random{5, 6};

  Checkpoint checkpoint(const std::string& path) {
    return Checkpoint(
        path,
        {.variables = {w, b}, .numbers = {{"epoch", &epoch}, {"best", &best}}, .random = {random}});
  }
  void check_unchanged() const {
    CHECK(get_value(w) == Array{1.f, 2.f});
    CHECK(get_value(b) == Array{3.f});
    CHECK(epoch == 4);
    CHECK(best == 0.5);
    CHECK(random.position() == RandomPosition{.seed = 5, .next_call = 6});
  }
};

/// The metadata of a file that fits Restored.
WeightsMetadata fitting() {
  return {{"kiln.checkpoint", "1"},
          {"number.epoch", "7"},
          {"number.best", "0.25"},
          {"random.0", "5 0 9"},
          {"random.process", "1 0 0"}};
}

WeightsMetadata with(const std::string& key, const std::string& value) {
  WeightsMetadata metadata = fitting();
  metadata[key] = value;
  return metadata;
}

WeightsMetadata without(const std::string& key) {
  WeightsMetadata metadata = fitting();
  metadata.erase(key);
  return metadata;
}

}  // namespace

TEST_CASE("checkpoint: errors of the constructor") {
  const Variable w = variable(Array{1.f}, {.name = "w"});
  const Variable same = variable(Array{2.f}, {.name = "w"});
  const Variable unnamed = variable(Array{1.f});
  int epoch = 0;
  int* const nowhere = nullptr;
  const auto adam = optimizers::Adam();
  testing::run(std::vector<Misuse>{
      {throws<ValueError>(), [] { Checkpoint("", {}); }, "Checkpoint: path is empty"},
      {throws<ValueError>(), [=] { Checkpoint("run.npz", {.variables = {w}}); },
       "Checkpoint: run.npz ends in '.npz', which has no place for the numbers and states of a "
       "checkpoint; .safetensors has"},
      {throws<TypeError>(), [=] { Checkpoint("run", {.variables = {w, w + 1}}); },
       "Checkpoint: variables[1] is not a variable (float32[1])"},
      {throws<ValueError>(), [=] { Checkpoint("run", {.variables = {w, unnamed}}); },
       "Checkpoint: variables[1] has no name (float32[1]): make it with a .name, by which the file "
       "finds it"},
      {throws<ValueError>(), [=] { Checkpoint("run", {.variables = {unnamed, w, same}}); },
       "Checkpoint: variables[0] has no name (float32[1]): make it with a .name, by which the file "
       "finds it"},
      {throws<ValueError>(), [=] { Checkpoint("run", {.variables = {w, same}}); },
       "Checkpoint: variables[0] and variables[1] are both named 'w': give each a .name of its "
       "own, or make them in name scopes"},
      {throws<ValueError>(), [=] { Checkpoint("run", {.variables = {w, std::vector{w}}}); },
       "Checkpoint: variables[0] and variables[1] are the same variable 'w': give it once"},
      {throws<ValueError>(), [=] { Checkpoint("run", {.variables = {w, adam.variables()}}); },
       "variables: the state of 'adam' is not built, so that 'momentum' would be missing: call "
       "minimize or build(weights) first"},
      {throws<ValueError>(), [&] { Checkpoint("run", {.numbers = {{"", &epoch}}}); },
       "Checkpoint: numbers[0] has no name"},
      {throws<ValueError>(), [=] { Checkpoint("run", {.numbers = {{"epoch", nowhere}}}); },
       "Checkpoint: number 'epoch' is a null pointer"},
      {throws<ValueError>(1),
       [&] { Checkpoint("run", {.numbers = {{"epoch", &epoch}, {"epoch", &epoch}}}); },
       "Checkpoint: numbers[0] and numbers[1] are both named 'epoch'"}});
}

TEST_CASE("checkpoint: a file that does not fit changes nothing") {
  const Scratch scratch;
  const std::string path = scratch.path("run");
  Restored restored;
  const Checkpoint checkpoint = restored.checkpoint(path);
  const auto rejects = [&](const char* message, const WeightsMetadata& metadata) {
    INFO(message);
    save_weights(path, {restored.w, restored.b}, {.metadata = metadata});
    const std::string whole = "Checkpoint::restore: " + std::string(message);
    const std::size_t at = whole.find("PATH");
    const std::string expected = at == whole.npos ? whole : std::string(whole).replace(at, 4, path);
    testing::run(Misuse{throws<ValueError>(), [&] { checkpoint.restore(); }, expected});
    restored.check_unchanged();
  };
  rejects("PATH is no checkpoint but a file of weights; load_weights loads it", {});
  rejects("PATH is a checkpoint of version '2'; this version of Kiln reads '1'",
          with("kiln.checkpoint", "2"));
  rejects("the numbers of PATH and of this training differ: the file lacks 'best'",
          without("number.best"));
  rejects("the numbers of PATH and of this training differ: .numbers lacks 'lr', 'wait'", [] {
    WeightsMetadata metadata = with("number.wait", "1");
    metadata["number.lr"] = "0.5";
    return metadata;
  }());
  rejects(
      "the numbers of PATH and of this training differ: the file lacks 'best'; .numbers lacks "
      "'Best'",
      [] {
        WeightsMetadata metadata = without("number.best");
        metadata["number.Best"] = "0.5";
        return metadata;
      }());
  rejects("number 'epoch' of PATH is 0.5, which is no value of its type here",
          with("number.epoch", "0.5"));
  rejects("number 'epoch' of PATH is 3000000000, which is no value of its type here",
          with("number.epoch", "3000000000"));
  rejects("PATH has random states: 0, and this training: 1", without("random.0"));
  rejects("PATH has random states: 2, and this training: 1", with("random.1", "1 0 0"));
  save_weights(path, {restored.w, restored.b});
  testing::run(Misuse{throws<ValueError>(), [&] { checkpoint.restore_if_exists(); },
                      "Checkpoint::restore_if_exists: " + path +
                          " is no checkpoint but a file of weights; load_weights loads it"});
}

TEST_CASE("checkpoint: other variables change nothing, and are listed") {
  const Scratch scratch;
  const std::string path = scratch.path("run");
  Restored restored;
  const Variable wide = variable(Array{7.f, 7.f}, {.name = "b"});
  const Variable older = variable(Array{7.f}, {.name = "w_1"});
  save_weights(path, {wide, older}, {.metadata = fitting()});
  const Checkpoint checkpoint = restored.checkpoint(path);
  testing::run(Misuse{throws<ValueError>(), [&] { checkpoint.restore(); },
                      "Checkpoint::restore: the 2 tensors of " + path +
                          " and the 2 variables differ in 3 names\n"
                          "  name      file         variable     problem\n"
                          "  'b'       float32 [2]  float32 [1]  other shape; load_weights with "
                          "skip_mismatch = true skips it\n"
                          "  'w'       -            float32 [2]  not in the file; did you mean "
                          "'w_1'?\n"
                          "  'w_1'     float32 [1]  -            no variable; did you mean 'w'?"});
  restored.check_unchanged();
}

TEST_CASE("checkpoint: a damaged file changes nothing") {
  const Scratch scratch;
  const std::string path = scratch.path("run");
  Restored restored;
  const Checkpoint checkpoint = restored.checkpoint(path);
  const auto rejects = [&](const std::string& message) {
    INFO(message);
    testing::run(Misuse{throws<IoError>(), [&] { checkpoint.restore(); },
                        "Checkpoint::restore: " + path + " " + message});
    restored.check_unchanged();
  };
  rejects("cannot be opened: No such file or directory");
  const auto rejects_metadata = [&](const std::string& message, const WeightsMetadata& metadata) {
    save_weights(path, {restored.w, restored.b}, {.metadata = metadata});
    rejects("is damaged: " + message);
  };
  rejects_metadata("number 'best' is 'low'", with("number.best", "low"));
  for (const char* const bad :
       {"", "5", "5 0", "5 0 x", "5 0 -1", "5 -1 0", "5 0 9 1", "5 0 9 ", "5 1000000001 9"}) {
    rejects_metadata("its metadata 'random.0' is '" + std::string(bad) + "'",
                     with("random.0", bad));
  }
  rejects_metadata("its metadata lacks 'random.process'", without("random.process"));
  save_weights(path, {restored.w, restored.b}, {.metadata = fitting()});
  const std::string whole = contents_of(path);
  scratch.write("run", whole.substr(0, whole.size() - 1));
  rejects("is truncated: tensor 'w' ends at offset 12 but there are 11 bytes of data");
  scratch.write("run", whole);
  checkpoint.restore();
  CHECK(restored.epoch == 7);
  CHECK(restored.best == 0.25);
  CHECK(restored.random.position() == RandomPosition{.seed = 5, .next_call = 9});
}

TEST_CASE("checkpoint: ops with seeds of another generator are an error where functions drew") {
  const Scratch scratch;
  const std::string path = scratch.path("run");
  Restored restored;
  const Checkpoint checkpoint = restored.checkpoint(path);
  const auto save = [&](const char* own, const char* process) {
    WeightsMetadata metadata = with("random.0", own);
    metadata["random.process"] = process;
    save_weights(path, {restored.w, restored.b}, {.metadata = metadata});
  };
  const auto take_seed = [](const RandomState& state) {
    const RandomScope scope(state);
    random_uniform({1});
  };
  const std::string start = "Checkpoint::restore: functions of the training of " + path +
                            " draw, and ops and variables here took seeds from ";
  set_random_seed(8);
  take_seed(RandomState::of_process());
  save("5 0 9", "3 2 0");
  testing::run(Misuse{throws<ValueError>(), [&] { checkpoint.restore(); },
                      start + "the process with the seed 8, not 3: call set_random_seed with this "
                              "seed before the model is built, or build it in a RandomScope"});
  restored.check_unchanged();
  take_seed(restored.random);
  save("4 2 9", "3 2 0");
  testing::run(Misuse{throws<ValueError>(), [&] { checkpoint.restore(); },
                      start + "random[0] with the seed 5, not 4: give it this seed before the "
                              "model is built"});
  save("4 2 0", "3 2 0");  // no function drew
  checkpoint.restore();
  CHECK(restored.random.position() == RandomPosition{.seed = 4, .seeds_drawn = 2});
  save("4 1 9", "3 2 0");  // the state gave the seeds, so that the process's do not matter
  checkpoint.restore();
  CHECK(restored.random.next_call() == 9);
}

}  // namespace kiln
