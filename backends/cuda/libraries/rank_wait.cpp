// Counts in milliseconds: a limit may have more than 2^63 nanoseconds.
#include "backends/cuda/libraries/rank_wait.h"

#include "core/types/text.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace kiln::cuda {
namespace {

using std::chrono::milliseconds;

double seconds(milliseconds time) { return static_cast<double>(time.count()) / 1000; }

}  // namespace

RankWait::RankWait(const sdk::Host& host, milliseconds limit, std::string action)
    : host_(host), limit_(limit) {
  restart(std::move(action));
}

void RankWait::restart(std::string action) {
  constexpr milliseconds kWarning{60'000};
  action_ = std::move(action);
  begin_ = std::chrono::steady_clock::now();
  warning_ = std::min(kWarning, limit_ / 2);
}

void RankWait::pause() {
  constexpr int kSpins = 200, kMaxPause = 1000;  // microseconds
  if (polls_ < kSpins) {
    ++polls_;
    return std::this_thread::yield();
  }
  const auto now = std::chrono::steady_clock::now();
  const auto waited = std::chrono::duration_cast<milliseconds>(now - begin_);
  if (waited > limit_) {
    throw sdk::Failure(KILN_CODE_DEADLINE_EXCEEDED,
                       text("the ranks of NCCL did not answer within ", seconds(limit_),
                            " s (init's time_limit)"));
  }
  if (waited >= warning_) {
    host_.log(KILN_LOG_WARNING, "cuda",
              text("has waited ", seconds(waited), " s for other ranks in NCCL: ", action_));
    warning_ = 2 * waited;
  }
  polls_ = std::min(polls_ + 1, kSpins + kMaxPause);
  std::this_thread::sleep_for(std::chrono::microseconds(polls_ - kSpins));
}

}  // namespace kiln::cuda
