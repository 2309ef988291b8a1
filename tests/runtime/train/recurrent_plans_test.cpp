// Tests that plans of recurrent layers compute the matmuls of the input, and the gradients of all
// weights, outside of their loops, in one matmul for all steps and gates.
#include "tests/support/catch.h"
#include "tests/support/plan_text.h"
#include "tests/support/scratch.h"

#include <kiln/train.h>

#include <functional>

namespace kiln {
namespace {

namespace L = layers;

constexpr std::int64_t kSamples = 5, kTime = 7, kFeatures = 3, kUnits = 4;

using Applied = std::function<Tensor(const Tensor& x, const L::RecurrentCall& call)>;

struct CellRow {
  const char* name;
  std::vector<L::Layer> layers;
  Applied apply;
  std::size_t loops;  // forwards; there are as many for the gradients
  std::int64_t columns;  // of a kernel: units of all gates
};

template <class Cell>
CellRow row_of(const char* name, const Cell& cell, std::size_t loops, std::int64_t gates) {
  return {name,
          {cell},
          [cell](const Tensor& x, const L::RecurrentCall& call) -> Tensor { return cell(x, call); },
          loops,
          gates* kUnits};
}

/// The plan of the loss and the gradients of all weights.
testing::PlanText plan_of(const CellRow& row, bool is_masked) {
  const auto x = placeholder({.shape = {kSamples, kTime, kFeatures}});
  const auto mask = placeholder({.shape = {kSamples, kTime}});
  const Tensor y = row.apply(x, {.mask = is_masked ? mask : Tensor()});
  const Tensor loss = mean(square(y));
  const testing::Scratch scratch;
  function(is_masked ? std::vector<Tensor>{x, mask} : std::vector<Tensor>{x},
           gradients(loss, L::weights(row.layers)))
      .dump(scratch.folder(), Stage::Plan);
  return testing::PlanText(scratch.path("52-plan.txt"));
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0, at = 0;
  for (; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

}  // namespace

TEST_CASE("recurrent plans: a step of a loop has one matmul, that of the states") {
  const L::RecurrentOptions last = {}, all = {.return_sequences = true};
  const std::vector<CellRow> rows{
      row_of("LSTM", L::LSTM(kUnits, last), 1, 4),
      row_of("LSTM, sequences", L::LSTM(kUnits, all), 1, 4),
      row_of("GRU", L::GRU(kUnits, last), 1, 3),
      row_of("GRU, sequences", L::GRU(kUnits, all), 1, 3),
      row_of("SimpleRNN", L::SimpleRNN(kUnits, last), 1, 1),
      row_of("SimpleRNN, sequences", L::SimpleRNN(kUnits, all), 1, 1),
      row_of("Bidirectional", L::Bidirectional(L::LSTM(kUnits, last)), 2, 4),
      row_of("Bidirectional, sequences", L::Bidirectional(L::GRU(kUnits, all)), 2, 3),
  };
  for (const CellRow& row : rows) {
    for (const bool is_masked : {false, true}) {
      INFO(row.name << (is_masked ? ", masked" : ""));
      const testing::PlanText plan = plan_of(row, is_masked);
      INFO(plan.before);
      const std::string steps = plan.before + plan.region;
      const std::string n = "N=" + std::to_string(row.columns),
                        t = std::to_string(kSamples * kTime);
      CHECK(count("\n" + steps, "\nloop ") == 2 * row.loops);
      CHECK(count(plan.bodies, "  matmul ") == 2 * row.loops);
      CHECK(count(plan.bodies, "M=" + std::to_string(kSamples) + " ") == 2 * row.loops);
      CHECK(count("\n" + steps, "\nmatmul ") == 3 * row.loops);
      CHECK(count(steps, "M=" + t + " " + n + " K=" + std::to_string(kFeatures) + ";") ==
            row.loops);
      CHECK(count(steps, " " + n + " K=" + t + ";") == 2 * row.loops);
    }
  }
}

}  // namespace kiln
