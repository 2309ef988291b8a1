// The agreement of a group of ranks about each call: what the ranks exchange before any data moves,
// and before any update is published, so that a mismatch is an error on all ranks and never a hang
// or a wrong number. Pure: RankProtocol is told what arrived and says what comes next.
//   exchange of heads -> collectives -> exchange of outcomes -> publish
//        | ranks differ, one failed or left    | one failed
//        v                                     v
//   exchange of texts -> error on all     exchange of texts -> error on all
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

namespace kiln::runtime::distributed {

enum class HeadKind : std::uint32_t {
  Call = 1,
  Outcome,
  BroadcastVariables,
  RequireEqual,
  Barrier,
  Split,
  Leave
};

enum class Outcome : std::uint32_t {
  Done,
  Failed,  // the rank cannot go on, and has a text that says why
  Found  // its steps found that the operation is an error on all ranks; it has the text
};

/// A rank's part of an exchange. Ranks agree if all fields but `outcome` are equal.
struct Head {
  HeadKind kind = HeadKind::Call;
  Outcome outcome = Outcome::Done;  // so far
  std::uint64_t call = 0;  // number of the operation in its group, from 1
  std::uint64_t function = 0;  // hash of its name; 0 if there is none
  std::uint64_t schedule = 0;  // hash of the collectives: kinds, dtypes, sizes, lines, ..
  std::uint64_t target = 0;  // hash of what the compiled code computes with
  std::uint64_t updates = 0;  // hash of the expressions that all ranks compute alike
  std::uint64_t phase = 0;  // the learning phase
  bool operator==(const Head&) const = default;
};
static_assert(sizeof(Head) == 56 && std::is_trivially_copyable_v<Head>);

/// Bytes of a rank's text in an exchange of texts, zero-padded.
inline constexpr std::size_t kTextBytes = 512;
using Text = std::array<char, kTextBytes>;
/// Truncates at a whole UTF-8 character.
Text padded_text(const std::string& text);
std::string text_of(const Text& text);

/// The result of an exchange of heads. Equal on all ranks, since all have the same heads.
enum class Verdict {
  Agreed,
  Failed,  // they agree, but the outcome of `rank` is not Done: the first of those
  Differ,  // `rank` is the first that differs from rank 0
  Left,  // `rank` has left: the first of those
};
struct Judgement {
  Verdict verdict = Verdict::Agreed;
  std::size_t rank = 0;
  bool operator==(const Judgement&) const = default;
};
/// REQUIRES: one head of each rank, in their order.
Judgement judge(std::span<const Head> heads);

/// The next action of a rank in a call.
enum class Action {
  ExchangeHeads,  // head() with those of all ranks, then on_heads()
  ExchangeTexts,  // text of this rank, that of its leave too, with those of all; then on_texts()
  RunCollectives,  // then on_run(); after a failure of its own the rank enters those that remain
  Publish,  // the updates; the call is over, or this rank has left
  Throw,  // error(); no rank publishes; the call is over
};

/// One call of one rank.
class RankProtocol {
 public:
  /// `opening`: with Outcome::Failed if the inputs are rejected. A rank that leaves waits for the
  /// next exchange of the others, which get its text as an error; if all leave, there is none.
  explicit RankProtocol(const Head& opening) : head_(opening) {}

  Action next() const { return next_; }
  /// The head that this rank sends in ExchangeHeads.
  const Head& head() const { return head_; }
  /// The judgement that led to ExchangeTexts or Throw.
  const Judgement& judgement() const { return judgement_; }

  void on_heads(std::span<const Head> heads);
  void on_run(Outcome outcome);
  void on_texts();

 private:
  Head head_;
  Judgement judgement_;
  Action next_ = Action::ExchangeHeads;
};

}  // namespace kiln::runtime::distributed
