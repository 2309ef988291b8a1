// Judges heads and steps through a call.
#include "runtime/distributed/protocol.h"

#include <algorithm>

namespace kiln::runtime::distributed {
namespace {

/// Whether they are of one operation, though perhaps with other items: a rank that has failed may
/// not know its own.
bool are_of_one_call(const Head& a, const Head& b) {
  return a.kind == b.kind && a.call == b.call && a.function == b.function;
}

bool agree(const Head& a, Head b) {
  b.outcome = a.outcome;
  return a == b;
}

template <class Predicate>
std::size_t first_rank(std::span<const Head> heads, const Predicate& predicate) {
  return static_cast<std::size_t>(std::find_if(heads.begin(), heads.end(), predicate) -
                                  heads.begin());
}

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

}  // namespace

Text padded_text(const std::string& text) {
  std::size_t size = std::min(text.size(), kTextBytes - 1);  // the last byte stays zero
  while (size > 0 && size < text.size() && is_continuation(text[size])) --size;
  Text padded{};
  std::copy_n(text.begin(), size, padded.begin());
  return padded;
}

std::string text_of(const Text& text) {
  return {text.begin(), std::find(text.begin(), text.end(), '\0')};
}

Judgement judge(std::span<const Head> heads) {
  const auto leaves = [](const Head& head) { return head.kind == HeadKind::Leave; };
  if (std::all_of(heads.begin(), heads.end(), leaves)) return {};
  if (const std::size_t rank = first_rank(heads, leaves); rank < heads.size()) {
    return {Verdict::Left, rank};
  }
  const auto is_of_other_call = [&](const Head& head) { return !are_of_one_call(heads[0], head); };
  if (const std::size_t rank = first_rank(heads, is_of_other_call); rank < heads.size()) {
    return {Verdict::Differ, rank};
  }
  const auto failed = [](const Head& head) { return head.outcome != Outcome::Done; };
  if (const std::size_t rank = first_rank(heads, failed); rank < heads.size()) {
    return {Verdict::Failed, rank};
  }
  const auto differs = [&](const Head& head) { return !agree(heads[0], head); };
  if (const std::size_t rank = first_rank(heads, differs); rank < heads.size()) {
    return {Verdict::Differ, rank};
  }
  return {};
}

void RankProtocol::on_heads(std::span<const Head> heads) {
  judgement_ = judge(heads);
  const bool is_over = head_.kind == HeadKind::Outcome || head_.kind == HeadKind::Leave;
  if (judgement_.verdict != Verdict::Agreed) next_ = Action::ExchangeTexts;
  else next_ = is_over ? Action::Publish : Action::RunCollectives;
}

void RankProtocol::on_run(Outcome outcome) {
  head_.kind = HeadKind::Outcome;
  head_.outcome = outcome;
  next_ = Action::ExchangeHeads;
}

void RankProtocol::on_texts() {
  next_ = head_.kind == HeadKind::Leave ? Action::Publish : Action::Throw;
}

}  // namespace kiln::runtime::distributed
