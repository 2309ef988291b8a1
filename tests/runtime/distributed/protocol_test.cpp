// Runs the protocol of all ranks for every combination of what each may do in each call. The model
// of the transport here knows only this: a transfer ends once all ranks are in one, and those that
// meet must be of one kind.
#include "tests/support/catch.h"

#include "runtime/distributed/protocol.h"

#include <optional>
#include <vector>

using namespace kiln::runtime::distributed;

namespace {

enum class Deed { CallA, CallB, FailEarly, FailLate, Leave, DieEarly, DieLate };
constexpr std::size_t kDeeds = 7;

Head head_of(Deed deed, std::uint64_t call) {
  Head head{.call = call, .function = deed == Deed::CallB ? 2u : 1u};
  if (deed == Deed::Leave) head = {.kind = HeadKind::Leave};
  head.outcome = deed == Deed::FailEarly ? Outcome::Failed : Outcome::Done;
  return head;
}

/// The end of a call on one rank.
enum class End { Published, Threw, Died, Broken };

struct Ending {
  std::vector<End> ends;
  std::vector<Judgement> judgements;
};

bool dies_before(Deed deed, Action action) {
  if (deed == Deed::DieEarly) return true;
  return deed == Deed::DieLate && action == Action::RunCollectives;
}

/// Runs one call of all ranks. Fails the test if ranks meet in transfers of different kinds.
Ending run_call(const std::vector<Deed>& deeds, std::uint64_t call,
                std::vector<RankProtocol>& ranks) {
  const std::size_t size = deeds.size();
  ranks.clear();
  for (const Deed deed : deeds) ranks.emplace_back(head_of(deed, call));
  Ending outcome{std::vector<End>(size, End::Broken), std::vector<Judgement>(size)};
  for (int step = 0; step < 8; ++step) {
    const Action action = ranks[0].next();
    std::vector<Head> heads;
    for (std::size_t i = 0; i < size; ++i) {
      heads.push_back(ranks[i].head());
      outcome.judgements[i] = ranks[i].judgement();
    }
    const bool is_over = action == Action::Publish || action == Action::Throw;
    bool has_died = false;
    for (std::size_t i = 0; i < size; ++i) {
      const Action own = ranks[i].next();
      if (is_over) {
        REQUIRE((own == Action::Publish || own == Action::Throw));
        outcome.ends[i] = own == Action::Publish ? End::Published : End::Threw;
      } else {
        REQUIRE(own == action);
        if (dies_before(deeds[i], action)) outcome.ends[i] = End::Died, has_died = true;
      }
    }
    if (is_over || has_died) return outcome;  // the engine ends all that wait for a dead rank
    for (std::size_t i = 0; i < size; ++i) {
      if (action == Action::ExchangeHeads) ranks[i].on_heads(heads);
      else if (action == Action::ExchangeTexts) ranks[i].on_texts();
      else ranks[i].on_run(deeds[i] == Deed::FailLate ? Outcome::Failed : Outcome::Done);
    }
  }
  FAIL("the call does not end");
  return outcome;
}

void require_sound(const std::vector<Deed>& deeds, const Ending& outcome) {
  bool has_died = false, has_published = false, has_thrown = false;
  for (std::size_t i = 0; i < deeds.size(); ++i) {
    has_died |= outcome.ends[i] == End::Died;
    const bool leaves = deeds[i] == Deed::Leave;
    has_published |= outcome.ends[i] == End::Published && !leaves;
    has_thrown |= outcome.ends[i] == End::Threw;
    REQUIRE(outcome.judgements[i] == outcome.judgements[0]);
    REQUIRE((!leaves || has_died || outcome.ends[i] == End::Published ||
             outcome.ends[i] == End::Broken));
  }
  REQUIRE(!(has_published && has_thrown));
  const auto all_are = [&](Deed deed) {
    return std::all_of(deeds.begin(), deeds.end(), [&](Deed own) { return own == deed; });
  };
  if (!has_died) REQUIRE(has_published == (all_are(Deed::CallA) || all_are(Deed::CallB)));
}

/// Deed i of every combination of `size` ranks.
std::vector<Deed> combination(std::size_t number, std::size_t size) {
  std::vector<Deed> deeds(size);
  for (Deed& deed : deeds) {
    deed = static_cast<Deed>(number % kDeeds);
    number /= kDeeds;
  }
  return deeds;
}

std::size_t combinations(std::size_t size) {
  std::size_t count = 1;
  for (std::size_t i = 0; i < size; ++i) count *= kDeeds;
  return count;
}

}  // namespace

TEST_CASE("protocol: ranks agree, or none publishes, whatever each does in each call") {
  for (const std::size_t size : {1, 2, 3, 4}) {
    for (std::size_t first = 0; first < combinations(size); ++first) {
      std::vector<RankProtocol> ranks;
      const std::vector<Deed> deeds = combination(first, size);
      const Ending outcome = run_call(deeds, 1, ranks);
      require_sound(deeds, outcome);
    }
  }
}

TEST_CASE("protocol: a verdict names the first rank at fault") {
  const Head a{.call = 1, .function = 1}, b{.call = 1, .function = 2};
  const Head late{.call = 2, .function = 1},
      failed{.outcome = Outcome::Failed, .call = 1, .function = 1};
  const Head items{.call = 1, .function = 1, .schedule = 5};
  const Head leave{.kind = HeadKind::Leave};
  struct Row {
    std::vector<Head> heads;
    Judgement expected;
  };
  const std::vector<Row> rows = {
      {{a}, {}},
      {{a, a, a}, {}},
      {{a, a, b}, {Verdict::Differ, 2}},
      {{a, late, b}, {Verdict::Differ, 1}},
      {{a, failed, failed}, {Verdict::Failed, 1}},
      {{failed, b, a}, {Verdict::Differ, 1}},
      {{a, items, a}, {Verdict::Differ, 1}},
      {{a, items, failed}, {Verdict::Failed, 2}},  // one that has failed may not know its items
      {{a, leave, b}, {Verdict::Left, 1}},
      {{leave, leave}, {}},
      {{leave, a, leave}, {Verdict::Left, 0}},
  };
  for (const Row& row : rows) CHECK(judge(row.heads) == row.expected);
}

TEST_CASE("protocol: texts are cut at whole characters") {
  CHECK(text_of(padded_text("")) == "");
  CHECK(text_of(padded_text("axis 3 of 'x'")) == "axis 3 of 'x'");
  const std::string fits(kTextBytes - 1, 'x');
  CHECK(text_of(padded_text(fits)) == fits);
  CHECK(text_of(padded_text(fits + "y")) == fits);
  const std::string start(kTextBytes - 3, 'x');
  CHECK(text_of(padded_text(start + "\u00e9")) == start + "\u00e9");
  CHECK(text_of(padded_text(start + "\u20ac")) == start);
}
