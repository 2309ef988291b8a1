// Collectives run one after the other, when the program asks for them.
#include "runtime/function/collective_call.h"

#include "core/types/text.h"

#include <kiln/error.h>

#include <utility>

namespace kiln::runtime {
namespace {

thread_local CollectiveCall* current_call = nullptr;

}  // namespace

CollectiveCall::CollectiveCall(const ProgramCollectives& program, const std::string& function,
                               Where where)
    : program_(program),
      call_(program.agreeing,
            distributed::Operation(distributed::HeadKind::Call, function.c_str(), where)) {
  call_.operation().item = "collective";
  current_call = this;
}

CollectiveCall::~CollectiveCall() { current_call = nullptr; }

CollectiveCall* CollectiveCall::current() { return current_call; }

void CollectiveCall::open(std::span<const std::int64_t> symbols) {
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < program_.list.size(); ++i) {
    const ProgramCollective& collective = program_.list[i];
    dims.clear();
    for (const ir::DimEvaluator& size : collective.sizes) dims.push_back(size(symbols));
    call_.operation().items.push_back(collective.text(dims));
    sized_.push_back(collective.sized(dims));
    runners_.emplace_back(program_.groups[i]);
  }
  has_opened_ = true;
  call_.open([&] { prepare(); });
}

void CollectiveCall::prepare() {
  for (std::size_t i = 0; i < sized_.size(); ++i) runners_[i].reserve(sized_[i]);
}

void CollectiveCall::run_next(const std::byte* from, std::byte* to) {
  const std::size_t i = next_++;
  call_.run([&] { runners_[i].run(sized_[i], from, to); });
}

void CollectiveCall::run(std::size_t number, const void* operand, void* result) {
  if (number != next_ || !call_.is_open()) {
    throw BackendError(call_.operation().function, "",
                       text("collective ", number, " runs when ", next_, " is the next"));
  }
  run_next(static_cast<const std::byte*>(operand), static_cast<std::byte*>(result));
}

void CollectiveCall::close() {
  if (next_ != sized_.size()) {
    throw BackendError(call_.operation().function, "",
                       text("the program ran ", next_, " of ", sized_.size(), " collectives"));
  }
  call_.close(nullptr);
}

void CollectiveCall::fail(const std::exception_ptr& failure) {
  if (!std::exchange(has_opened_, true)) {
    call_.operation().failure = failure;
    call_.open([] {});
  } else if (call_.is_open()) {
    while (next_ < sized_.size()) run_next(nullptr, nullptr);
    call_.close(failure);
  }
  std::rethrow_exception(failure);
}

}  // namespace kiln::runtime
