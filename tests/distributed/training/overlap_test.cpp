// The plan of char_rnn's model: gradients are summed over ranks while the backward pass goes on.
#include "tests/distributed/training/training_ranks.h"
#include "tests/support/catch.h"
#include "tests/support/environment.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <algorithm>
#include <iterator>
#include <regex>
#include <sstream>

namespace kiln::testing {
namespace {

namespace D = distributed;
namespace L = layers;

constexpr int kForwardMatmuls = 3;  // of the LSTM's inputs and its states, and of the dense layer

/// Compiles a training step as tools/examples/char_rnn.cpp has it; returns its plan.
std::string plan_of_char_rnn(const std::string& folder) {
  const std::int64_t characters = 86, hidden = 32;
  const Tensor x = placeholder({.shape = {None, None}, .dtype = "int32", .name = "x"});
  const Tensor y = placeholder({.shape = {None, None}, .dtype = "int32", .name = "y"});
  const Tensor h = placeholder({.shape = {None, hidden}, .name = "h"});
  const Tensor c = placeholder({.shape = {None, hidden}, .name = "c"});
  const L::Embedding embedding(characters, hidden);
  const L::LSTM lstm(hidden, {.return_sequences = true});
  const L::Dense out(characters);
  const Tensor logits = out(lstm(embedding(x), {.initial_state = {h, c}}));
  const Tensor loss = mean(sparse_categorical_crossentropy(y, logits, {.from_logits = true}));
  const std::vector<Tensor> weights = L::weights({embedding, lstm, out});
  const auto adam = optimizers::Adam();
  static_cast<void>(function({x, y, h, c}, {loss},
                             {.updates = adam.updates(D::gradients(loss, weights), weights),
                              .dump = folder,
                              .dump_stages = Stage::Plan}));
  return contents_of(folder + "/52-plan.txt");
}

/// A step of the plan; steps of bodies count as their loop's.
struct PlanStep {
  std::string line;
  std::vector<std::string> slots;  // that it mentions
  int matmuls = 0;

  bool calls(const char* function) const {
    return line.rfind(std::string("host_call ") + function, 0) == 0;
  }
  bool mentions(const std::string& slot) const {
    return std::find(slots.begin(), slots.end(), slot) != slots.end();
  }
};

std::vector<std::string> slots_in(const std::string& text) {
  const std::regex slot("%[0-9]+");
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), slot), end; at != end; ++at) {
    found.push_back(at->str());
  }
  return found;
}

std::vector<PlanStep> steps_of(const std::string& plan) {
  std::vector<PlanStep> steps;
  std::istringstream lines(plan);
  const std::regex declaration("^ *(%[0-9]+ = [a-z]|#|check ).*");
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, declaration)) continue;
    const std::string step = line.substr(line.find_first_not_of(' '));
    if (step.size() == line.size()) {
      steps.push_back({line, slots_in(line.substr(0, line.find("  # ")))});
    }
    if (step.rfind("matmul ", 0) == 0) ++steps.back().matmuls;
  }
  return steps;
}

int matmuls_of(std::vector<PlanStep>::const_iterator begin,
               std::vector<PlanStep>::const_iterator end) {
  int matmuls = 0;
  for (; begin != end; ++begin) matmuls += begin->matmuls;
  return matmuls;
}

/// The faults in the collectives' places; empty for none.
std::string faults_of(const std::vector<PlanStep>& steps) {
  std::string faults;
  for (auto step = steps.begin(); step != steps.end(); ++step) {
    if (step->calls("collective_start")) {  // (position) = (position, operands)
      auto last = steps.begin();  // the last step that one of the operands needs
      for (auto other = steps.begin(); other != step; ++other) {
        for (auto slot = step->slots.begin() + 2; slot != step->slots.end(); ++slot) {
          if (other->mentions(*slot)) last = other;
        }
      }
      if (matmuls_of(last + 1, step) != 0) faults += "late: " + step->line + "\n";
    }
    if (step->calls("collective_wait")) {  // (results) = (position)
      for (auto slot = step->slots.begin(); slot + 1 != step->slots.end(); ++slot) {
        const auto mentions = [&](const PlanStep& other) { return other.mentions(*slot); };
        if (std::any_of(steps.begin(), step, mentions)) faults += "read before its wait: " + *slot;
        if (std::none_of(step + 1, steps.end(), mentions)) faults += "not read: " + *slot;
      }
    }
  }
  return faults;
}

TEST_CASE("overlap: char_rnn's gradients are summed while the backward pass goes on") {
  const Scratch scratch;
  const auto plans = texts_of_ranks(2, "cpu", [&](const D::Session& world) {
    // The gradients of one matrix in each bucket: 16 KiB of the LSTM's, 11 KiB of the others.
    const EnvironmentVariable bucket("KILN_DISTRIBUTED_BUCKET", "16384");
    return plan_of_char_rnn(scratch.path(std::to_string(world.rank())));
  });
  for (const std::string& plan : plans) {
    INFO(plan);
    const std::vector<PlanStep> steps = steps_of(plan);
    const auto starts = [](const PlanStep& step) { return step.calls("collective_start"); };
    const auto waits = [](const PlanStep& step) { return step.calls("collective_wait"); };
    CHECK(std::count_if(steps.begin(), steps.end(), starts) == 4);
    CHECK(faults_of(steps) == "");
    const auto first = std::find_if(steps.begin(), steps.end(), starts);
    const auto last = std::find_if(steps.rbegin(), steps.rend(), waits).base();
    REQUIRE(first < last);
    const int backward = matmuls_of(steps.begin(), steps.end()) - kForwardMatmuls;
    CHECK(backward == 6);
    CHECK(2 * matmuls_of(first, last) >= backward);
  }
}

}  // namespace
}  // namespace kiln::testing
