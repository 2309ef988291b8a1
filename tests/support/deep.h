// Checks for tests of deep graphs: no stack is needed, and time is linear in the graph's length.
// Time is compared with itself at two lengths, so that no machine is too slow.
#pragma once

#include "tests/support/catch.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace kiln::test {

// AddressSanitizer enlarges every stack frame.
#ifdef __SANITIZE_ADDRESS__
inline constexpr std::size_t kSmallStack = 8 * 256 * 1024;
#else
inline constexpr std::size_t kSmallStack = 256 * 1024;
#endif

/// Runs `run` on a thread with a stack of 256 KiB. Returns the text of its exception, or "".
inline std::string error_on_small_stack(const std::function<void()>& run) {
  struct Job {
    const std::function<void()>& run;
    std::string error = "the thread did not start";
  } job{run};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kSmallStack);
  pthread_t thread;
  const auto body = [](void* argument) -> void* {
    auto& own = *static_cast<Job*>(argument);
    try {
      own.run();
      own.error.clear();
    } catch (const std::exception& error) {
      own.error = error.what();
    }
    return nullptr;
  };
  const int started = pthread_create(&thread, &attributes, body, &job);
  pthread_attr_destroy(&attributes);
  if (started == 0) pthread_join(thread, nullptr);
  return job.error;
}

/// User CPU seconds of the phases of a run, in their order.
class Laps {
 public:
  struct Lap {
    std::string phase;
    double seconds;
  };

  /// Ends the phase that began at the previous lap.
  void end(const char* phase) {
    const double now = user_seconds();
    laps_.push_back({phase, now - last_});
    last_ = now;
  }
  const std::vector<Lap>& all() const { return laps_; }

 private:
  static double user_seconds() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec) +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
  }

  std::vector<Lap> laps_;
  double last_ = user_seconds();
};

/// Runs on small stacks with a chain of `length` nodes and with an eighth of that. Each phase may
/// take at most five times its share of the time, where a quadratic one takes eight times: the
/// longer chain fills caches that the shorter one does not, and other work on the machine disturbs.
/// The best of up to five runs counts.
inline void check_linear(std::size_t length,
                         const std::function<void(std::size_t length, Laps& laps)>& run) {
  constexpr double kFactor = 8, kSlack = 5;
  constexpr double kTick = 0.02;  // phases that are shorter are below what the clock can tell
  std::vector<Laps::Lap> whole, eighth;
  const auto measure = [&](std::size_t at_length, std::vector<Laps::Lap>& best) {
    REQUIRE(error_on_small_stack([&] {
              Laps laps;
              run(at_length, laps);
              if (best.empty()) best = laps.all();
              for (std::size_t i = 0; i < best.size(); ++i) {
                best[i].seconds = std::min(best[i].seconds, laps.all().at(i).seconds);
              }
            }) == "");
  };
  const auto is_linear = [&](std::size_t i) {
    return whole[i].seconds <= kFactor * kSlack * std::max(eighth[i].seconds, kTick);
  };
  bool linear = false;
  for (int attempt = 0; attempt < 5 && !linear; ++attempt) {
    measure(length / 8, eighth);
    measure(length, whole);
    linear = true;
    for (std::size_t i = 0; i < whole.size(); ++i) linear = linear && is_linear(i);
  }
  for (std::size_t i = 0; i < whole.size(); ++i) {
    INFO(whole[i].phase << ": " << eighth[i].seconds << " s for " << length / 8 << " nodes, "
                        << whole[i].seconds << " s for " << length);
    CHECK(is_linear(i));
  }
}

}  // namespace kiln::test
