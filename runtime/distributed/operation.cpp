// Runs the protocol over a channel and words its errors. All ranks word the same error, since all
// have the same heads and texts.
#include "runtime/distributed/operation.h"

#include <kiln/distributed.h>

#include "core/types/counted.h"
#include "core/types/escaped_text.h"
#include "core/types/exception_text.h"
#include "core/types/text.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace kiln::runtime::distributed {
namespace {

/// FNV-1a (Fowler, Noll, Vo): the same on every machine.
class Hash {
 public:
  Hash& add(std::string_view text) {
    for (const char c : text) mix(static_cast<unsigned char>(c));
    mix(0xff);  // occurs in no UTF-8 text: "ab" "c" differs from "a" "bc"
    return *this;
  }
  std::uint64_t value() const { return value_; }

 private:
  void mix(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3u; }

  std::uint64_t value_ = 0xcbf29ce484222325u;
};

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

template <class T>
std::vector<T> values_in(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Whether the ranks differ in the items or updates of one operation, not in the operation.
bool differ_in_items(Head a, const Head& b) {
  a.outcome = b.outcome;
  a.schedule = b.schedule;
  a.updates = b.updates;
  return a == b;
}

}  // namespace

std::string failure_text(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return exception_text(error);
  } catch (...) {
    return "an exception of another type than std::exception";
  }
}

std::uint64_t hash_of(std::string_view text) { return Hash().add(text).value(); }

Operation::Operation(HeadKind of_kind, const char* of_function, Where line)
    : kind(of_kind),
      function(of_function),
      where(line),
      call(text(function, " (", line.file, ":", line.line, ")")) {}

Head Agreement::opening() const {
  Hash items;
  for (const std::string& item : operation_.items) items.add(item);
  if (!operation_.arrangement.empty()) items.add(operation_.arrangement);
  return {.kind = operation_.kind,
          .outcome = failure_ ? Outcome::Failed : Outcome::Done,
          .call = number_,
          .function = hash_of(operation_.function),
          .schedule = items.value(),
          .target = operation_.detail,
          .updates = operation_.updates == nullptr ? 0 : operation_.updates->hash,
          .phase = operation_.phase};
}

std::vector<Head> Agreement::exchange(const Head& head) {
  return values_in<Head>(channel_.all_gather(std::as_bytes(std::span(&head, 1))));
}

std::vector<std::string> Agreement::exchange(const std::string& own) {
  const Text padded = padded_text(own);
  std::vector<std::string> texts;
  for (const Text& text : values_in<Text>(channel_.all_gather(std::as_bytes(std::span(padded))))) {
    texts.push_back(escaped_text(distributed::text_of(text)));
  }
  return texts;
}

std::optional<std::size_t> Agreement::first_difference(std::vector<std::uint64_t> own) {
  const std::vector<std::uint64_t> own_count{own.size()};
  const auto counts = values_in<std::uint64_t>(channel_.all_gather(bytes_of(own_count)));
  const std::size_t most = *std::max_element(counts.begin(), counts.end());
  own.resize(most);  // 0 for those that this rank does not have
  const auto all = values_in<std::uint64_t>(channel_.all_gather(bytes_of(own)));
  const auto* first = all.data();
  const auto* other = all.data() + judgement_.rank * most;
  const auto* found = std::mismatch(first, first + most, other).first;
  if (found == first + most) return std::nullopt;
  return static_cast<std::size_t>(found - first);
}

void Agreement::explain_operation(const std::vector<Head>& heads) {
  const std::size_t rank = judgement_.rank;
  std::string own = operation_.call;
  if (heads[0].function == heads[rank].function) own += operation_.detail_text;
  if (heads[0].phase != heads[rank].phase) own += text(" in learning phase ", operation_.phase);
  const auto calls = exchange(text(own, ", its call ", number_));
  error_ = text("rank 0 calls ", calls[0], ", while rank ", rank, " calls ", calls[rank],
                "; nothing was computed");
}

void Agreement::explain_items() {
  const std::size_t rank = judgement_.rank;
  std::vector<std::uint64_t> hashes;
  for (const std::string& item : operation_.items) hashes.push_back(hash_of(item));
  const std::optional<std::size_t> found = first_difference(std::move(hashes));
  if (!found) {
    const auto merged = exchange(operation_.arrangement);
    error_ = text(operation_.item, "s are merged as ", merged[0], " on rank 0 but as ",
                  merged[rank], " on rank ", rank, "; their KILN_DISTRIBUTED_BUCKET differs");
    return;
  }
  const std::size_t i = *found;
  const auto items = exchange(i < operation_.items.size() ? operation_.items[i] : "missing");
  error_ = text(operation_.item, " ", i, " is ", items[0], " on rank 0 but ", items[rank],
                " on rank ", rank);
}

void Agreement::explain_updates() {
  const std::size_t rank = judgement_.rank;
  const std::vector<UpdateExpression> none;
  const auto& updates = operation_.updates == nullptr ? none : operation_.updates->list;
  std::vector<std::uint64_t> hashes;
  for (const UpdateExpression& update : updates) hashes.push_back(update.hash);
  const std::size_t i = first_difference(std::move(hashes)).value_or(0);
  const auto texts = exchange(i < updates.size() ? updates[i].text : "missing");
  error_ = text("update ", i, " is ", texts[0], " on rank 0 but ", texts[rank], " on rank ", rank,
                "; their expressions differ");
}

void Agreement::explain_difference(const std::vector<Head>& heads) {
  const Head& first = heads[0];
  const Head& other = heads[judgement_.rank];
  if (!differ_in_items(first, other)) return explain_operation(heads);
  if (first.schedule != other.schedule) return explain_items();
  explain_updates();
}

void Agreement::explain(const std::vector<Head>& heads) {
  const std::size_t rank = judgement_.rank;
  if (judgement_.verdict == Verdict::Differ) return explain_difference(heads);
  const auto texts = exchange(failure_ ? failure_text(failure_) : finding_);
  if (judgement_.verdict == Verdict::Left) {
    error_ = text("rank ", rank, " has left the group after ",
                  counted(heads[rank].call - 1, "call"), ": ", texts[rank]);
  } else if (heads[rank].outcome == Outcome::Found) {
    error_ = texts[rank];
  } else {
    error_ = text("rank ", rank, " failed: ", texts[rank], "; ", operation_.consequence);
  }
}

std::exception_ptr Agreement::run_steps(const std::function<void(Channel&)>& steps) {
  try {
    steps(channel_);
  } catch (const CommunicatorError&) {
    throw;
  } catch (const Finding& finding) {
    finding_ = finding.what();
  } catch (const std::exception&) {
    return std::current_exception();
  }
  return nullptr;
}

void Agreement::advance() {
  std::vector<Head> heads;
  while (true) {
    switch (protocol_->next()) {
      case Action::ExchangeHeads:
        heads = exchange(protocol_->head());
        protocol_->on_heads(heads);
        judgement_ = protocol_->judgement();
        break;
      case Action::ExchangeTexts:
        explain(heads);
        protocol_->on_texts();
        break;
      case Action::RunCollectives:
      case Action::Publish:
      case Action::Throw: return;
    }
  }
}

bool Agreement::open() {
  try {
    channel_.reserve(operation_.bytes);
  } catch (const std::bad_alloc&) {
    if (!failure_) failure_ = std::current_exception();
  }
  protocol_.emplace(opening());
  advance();
  return protocol_->next() == Action::RunCollectives;
}

void Agreement::close(const std::exception_ptr& failure) {
  failure_ = failure;
  protocol_->on_run(failure_ ? Outcome::Failed : finding_.empty() ? Outcome::Done : Outcome::Found);
  advance();
}

void Agreement::run(const std::function<void(Channel&)>& steps) {
  if (open()) close(run_steps(steps));
}

void Agreement::throw_if_failed() const {
  if (judgement_.verdict == Verdict::Agreed) return;
  if (failure_) std::rethrow_exception(failure_);
  throw kiln::distributed::DistributedError(operation_.function, error_, judgement_.rank,
                                            operation_.where);
}

}  // namespace kiln::runtime::distributed
