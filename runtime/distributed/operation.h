// Operations of a group of ranks, and the agreement of the ranks on each.
#pragma once

#include <kiln/where.h>

#include "runtime/distributed/channel.h"
#include "runtime/distributed/protocol.h"

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::runtime::distributed {

/// A hash of the text that is the same on every machine.
std::uint64_t hash_of(std::string_view text);

/// The text of what was thrown.
std::string failure_text(const std::exception_ptr& thrown);

/// The new value of a variable that all ranks compute alike.
struct UpdateExpression {
  std::uint64_t hash = 0;  // of the expression
  std::string text = {};  // of the variable, "'w' (train.cpp:12)"
};

/// The new values of a function.
struct UpdateExpressions {
  std::vector<UpdateExpression> list = {};
  std::uint64_t hash = 0;  // of all; 0 for none
};

/// One operation of all ranks, which have to agree in all but `failure`.
struct Operation {
  /// `function`: that the user called, at `line`.
  Operation(HeadKind of_kind, const char* of_function, Where line);

  /// Returns work(); a value-initialised result if it throws, which then is `failure`, so that the
  /// rank still takes part. For all checks of a user's arguments.
  template <class Work>
  auto attempt(const Work& work) -> decltype(work()) {
    try {
      return work();
    } catch (const std::exception&) {
      failure = std::current_exception();
      return decltype(work())();
    }
  }

  HeadKind kind;
  std::string function;  // for errors
  Where where;
  std::string call;  // with its line: "barrier (train.cpp:12)"
  std::uint64_t detail = 0;  // what else the ranks agree on
  /// Follows `call` where the ranks differ in it, unless `call` has it.
  std::string detail_text = {};
  /// Its operands, such as "'w' float32[2,3]", and the noun for one of them: "variable". Of
  /// collectives, with the line that made each: "all_reduce sum float32[6] (train.cpp:12)".
  std::vector<std::string> items = {};
  std::string arrangement = {};  // of the items: how many are transferred together
  std::string_view item = "item";
  const UpdateExpressions* updates = nullptr;  // null: none
  std::uint64_t phase = 0;  // the learning phase of a call
  std::size_t bytes = 0;  // of the largest buffer that its transfers receive
  std::exception_ptr failure = nullptr;  // why this rank cannot take part; null: it can
  /// Said after the failure of a rank.
  std::string_view consequence = "no variable changed on any rank";
};

/// Thrown by steps that have found an error of the operation, which is then that of all ranks, as
/// variables that differ.
class Finding : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The steps of one rank through one operation.
class Agreement {
 public:
  /// `number`: of this operation in the group, from 1. REQUIRES: the arguments outlive the object.
  Agreement(const Operation& operation, std::uint64_t number, Channel& channel)
      : operation_(operation), number_(number), channel_(channel), failure_(operation.failure) {}

  // Each runs on the communication thread and throws CommunicatorError.

  /// Agrees on the operation. Returns whether the steps follow, then close().
  bool open();
  /// Agrees that no rank has failed. `failure`: of this rank in its steps; null for none.
  void close(const std::exception_ptr& failure);
  /// Runs open(), then, if it returns true, the steps and close().
  void run(const std::function<void(Channel&)>& steps);

  /// Throws what run() found: the failure of this rank, else DistributedError.
  void throw_if_failed() const;
  /// Whether a rank has left, so that the group cannot be used again.
  bool has_left() const { return judgement_.verdict == Verdict::Left; }
  /// Whether the ranks called different operations.
  bool has_differed() const { return judgement_.verdict == Verdict::Differ; }
  /// The text of the DistributedError without the function; empty for none.
  const std::string& error() const { return error_; }
  /// The rank that error() is about.
  std::size_t rank() const { return judgement_.rank; }

 private:
  Head opening() const;
  std::vector<Head> exchange(const Head& head);
  std::vector<std::string> exchange(const std::string& text);
  std::exception_ptr run_steps(const std::function<void(Channel&)>& steps);
  /// Exchanges until the steps or the end of the operation.
  void advance();
  void explain(const std::vector<Head>& heads);
  void explain_difference(const std::vector<Head>& heads);
  void explain_operation(const std::vector<Head>& heads);
  void explain_items();
  void explain_updates();
  /// The place of the first hash that differs between rank 0 and the judged one; none if all are
  /// equal. `own`: of this rank.
  std::optional<std::size_t> first_difference(std::vector<std::uint64_t> own);

  const Operation& operation_;
  const std::uint64_t number_;
  Channel& channel_;
  std::exception_ptr failure_;  // of this rank
  std::string finding_;
  std::optional<RankProtocol> protocol_;
  Judgement judgement_;
  std::string error_;
};

}  // namespace kiln::runtime::distributed
