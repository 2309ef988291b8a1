// Random draws differ between ranks; initial values do not.
#include "tests/distributed/training/training_ranks.h"
#include "tests/support/catch.h"

#include <kiln/k.h>

#include <set>

namespace kiln::testing {
namespace {

/// Bits of initial values, then two masks of dropout, a line each.
std::vector<std::string> draw(const distributed::Session&) {
  set_random_seed(5);
  const Tensor w = random_normal_variable({40}, 0, 1, {.name = "w"});
  const layers::Dense dense(3);
  static_cast<void>(dense(placeholder({.shape = {None, 4}})));
  const Tensor mask = dropout(ones({64}), 0.5);
  const Function f = function({}, {mask});
  const Tensor first = variable(f()[0], {.name = "first"});
  const Tensor second = variable(f()[0], {.name = "second"});
  return {bits_of({w}) + bits_of(dense.weights()), bits_of({first}).substr(6),
          bits_of({second}).substr(7)};
}

TEST_CASE("draws: masks differ between ranks and calls, rank 0's are those of one process") {
  for (const std::string backend : {"cpu", "reference"}) {
    const auto run = [&](std::uint32_t ranks) {
      return texts_of_ranks(ranks, backend, [](const distributed::Session& world) {
        const std::vector<std::string> drawn = draw(world);
        return drawn[0] + "masks\n" + drawn[1] + drawn[2];
      });
    };
    const std::string alone = run(kAlone)[0];
    const std::vector<std::string> texts = run(4);
    CHECK(texts[0] == alone);
    std::set<std::string> masks;
    for (const std::string& text : texts) {
      const std::size_t end = text.find("masks\n");
      REQUIRE(end != text.npos);
      CHECK(text.substr(0, end) == alone.substr(0, end));
      const std::string drawn = text.substr(end + 6);
      masks.insert(drawn.substr(0, drawn.find('\n')));
      masks.insert(drawn.substr(drawn.find('\n') + 1));
    }
    CHECK(masks.size() == 8);
  }
}

}  // namespace
}  // namespace kiln::testing
