// Tests loops over batches that are gathered on a thread: results, early ends, fork, the progress
// line of a terminal.
#include "tests/support/catch.h"
#include "tests/support/child.h"

#include <kiln/train.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <regex>
#include <string>
#include <thread>

#include <poll.h>
#include <stdlib.h>

namespace kiln {
namespace {

constexpr std::int64_t kWidth = 256 << 10;  // 1 MiB a row: enough to gather on a thread

/// Element i is the number of its row.
Array wide_rows(std::int64_t rows) {
  std::vector<float> elements;
  for (std::int64_t row = 0; row < rows; ++row) {
    elements.insert(elements.end(), kWidth, static_cast<float>(row));
  }
  return Array(elements, {rows, kWidth});
}

/// The first and last element of each row in the order of the loop, as one text.
std::string seen_in(const Epoch& epoch) {
  std::string seen;
  for (const auto& batch : epoch) {
    const std::int64_t rows = batch[0].dims()[0];
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto first = batch[0].at<float>(i, 0), last = batch[0].at<float>(i, kWidth - 1);
      seen += std::to_string(static_cast<int>(first));
      seen += first == last ? " " : "? ";
    }
  }
  return seen;
}

std::size_t threads_of_process() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    ++count;
  }
  return count;
}

/// Whether the process comes down to `threads`: the system lists a joined thread a little longer.
bool ends_with(std::size_t threads) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    if (threads_of_process() == threads) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

/// Standard output is a terminal while this object lives.
class Terminal {
 public:
  Terminal() : main_(::posix_openpt(O_RDWR | O_NOCTTY)), output_(::dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    ::grantpt(main_);
    ::unlockpt(main_);
    const int side = ::open(::ptsname(main_), O_RDWR | O_NOCTTY);  // NOLINT: one thread
    is_open_ = side >= 0 && ::dup2(side, STDOUT_FILENO) >= 0;
    if (side >= 0) ::close(side);
  }
  ~Terminal() {
    restore();
    ::close(main_);
    ::close(output_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  bool is_open() const { return is_open_; }

  /// Ends the terminal; returns the text on it, whose last line is "after".
  std::string text() {
    std::fflush(stdout);
    std::string all;
    char buffer[4096];
    pollfd event{main_, POLLIN, 0};
    while (!all.ends_with("after\r\n") && ::poll(&event, 1, 10'000) == 1) {
      const ssize_t count = ::read(main_, buffer, sizeof buffer);
      if (count <= 0) break;
      all.append(buffer, static_cast<std::size_t>(count));
    }
    restore();
    return all;
  }

 private:
  void restore() {
    std::fflush(stdout);
    ::dup2(output_, STDOUT_FILENO);
  }

  int main_, output_;
  bool is_open_ = false;
};

/// The text with T for each time, such as 0:07.
std::string without_times(const std::string& text) {
  return std::regex_replace(text, std::regex("[0-9]+:[0-5][0-9]"), "T");
}

}  // namespace

TEST_CASE("loops over batches: with and without a thread are equal", "[concurrency]") {
  const Array rows = wide_rows(7);
  for (const bool shuffle : {false, true}) {
    for (const int size : {1, 2, 7}) {
      INFO("shuffle " << shuffle << ", size " << size);
      BatchesOptions options{.size = size, .shuffle = shuffle, .prefetch = false};
      const std::string without = seen_in(Batches({rows}, options).epoch(4));
      options.prefetch = true;
      CHECK(seen_in(Batches({rows}, options).epoch(4)) == without);
      CHECK(without == (shuffle ? "0 2 6 5 1 4 3 " : "0 1 2 3 4 5 6 "));
    }
  }
}

TEST_CASE("loops over batches: may end early, and leave no thread", "[concurrency]") {
  const Batches batches({wide_rows(6)}, {.size = 2, .shuffle = true});
  std::thread([] {}).join();  // ThreadSanitizer starts a thread of its own beside the first one
  const std::size_t threads = threads_of_process();
  for (int end = 0; end < 3; ++end) {
    int count = 0;
    for ([[maybe_unused]] const auto& batch : batches.epoch(0)) {
      if (count++ == end) break;
    }
    CHECK(ends_with(threads));
  }
  CHECK_THROWS_AS(([&] {
                    for (const auto& batch : batches.epoch(0)) throw batch.size();
                  })(),
                  std::size_t);
  CHECK(ends_with(threads));
  BatchIterator loop = Batches(batches).epoch(0).begin();
  const BatchIterator copy = loop;
  for (int i = 0; i < 5; ++i) ++loop;  // beyond the end
  CHECK(loop == std::default_sentinel);
  CHECK(copy == std::default_sentinel);
  CHECK((*loop).empty());
  const BatchIterator moved = std::move(loop);
  CHECK(loop == std::default_sentinel);
  CHECK(moved == std::default_sentinel);
}

TEST_CASE("loops over batches: several at a time", "[concurrency]") {
  const Batches batches({wide_rows(6)}, {.size = 2, .shuffle = true});
  const std::string expected = seen_in(batches.epoch(1));
  std::vector<std::string> seen(3);
  std::vector<std::thread> threads;
  for (std::string& one : seen) threads.emplace_back([&] { one = seen_in(batches.epoch(1)); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& one : seen) CHECK(one == expected);
}

TEST_CASE("loops over batches: go on in a child of fork") {
  const Batches batches({wide_rows(6)}, {.size = 1});
  BatchIterator loop = batches.epoch(0).begin();
  ++loop;
  const auto rest = [&] {
    float sum = 0;
    for (; loop != std::default_sentinel; ++loop) sum += (*loop)[0].at<float>(0, 0);
    return static_cast<int>(sum);
  };
  CHECK(testing::in_child(rest) == 1 + 2 + 3 + 4 + 5);
  CHECK(rest() == 1 + 2 + 3 + 4 + 5);
}

TEST_CASE("loops over batches: a progress line on a terminal only") {
  const Batches batches({Array{1.f, 2.f, 3.f, 4.f}}, {.size = 1});
  const auto loop = [&](const char* title) {
    const Epoch epoch = batches.epoch(2, {.start = 1, .progress = title});
    double loss = 1;
    for ([[maybe_unused]] const auto& batch : epoch) {
      epoch.show("loss", loss /= 3);
      epoch.show("accuracy", 0.5);
    }
    std::printf("after\n");
  };
  {
    Terminal terminal;
    if (!terminal.is_open()) return;  // no pseudo-terminals here
    loop("epoch 2");
    const std::string text = terminal.text();
    INFO(text);
    CHECK(text.starts_with("\r\033[K\033[?7lepoch 2 [=======>"));
    CHECK(text.find("] 1/4\033[?7h\r\033[K") != std::string::npos);
    CHECK(without_times(text).ends_with(
        "epoch 2 [==============================] 4/4  T  loss 0.03704  accuracy 0.5"
        "\033[?7h\r\nafter\r\n"));
  }
  Terminal terminal;
  loop("");
  CHECK(terminal.text() == "after\r\n");
}

TEST_CASE("loops over batches: a progress line reads metrics when it is drawn") {
  const auto x = placeholder({.shape = {None}});
  const Metric total = metrics::Sum();
  const Function add = function({x}, {}, {.updates = total.updates(x)});
  const Metric several = metrics::Recall({.thresholds = {.1, .2}});  // has no single value
  const Batches batches({Array{1.f, 2.f, 3.f}}, {.size = 1});
  const auto loop = [&](const Metric& shown) {
    const Epoch epoch = batches.epoch(0, {.progress = "e"});
    epoch.show("total", shown);
    for (const auto& batch : epoch) add(batch);
  };
  CHECK_NOTHROW(loop(several));  // no terminal
  total.reset();
  Terminal terminal;
  if (!terminal.is_open()) return;
  CHECK_THROWS_AS(loop(several), ValueError);
  total.reset();  // the loop's body ran once, as the first line has no values
  loop(total);
  std::printf("after\n");
  const std::string text = without_times(terminal.text());
  CHECK(text.find("] 0/3\033[?7h") != std::string::npos);  // no total before the first batch
  CHECK(text.ends_with("] 3/3  T  total 6\033[?7h\r\nafter\r\n"));
}

TEST_CASE("loops over batches: a progress line estimates the time left") {
  Terminal terminal;
  if (!terminal.is_open()) return;
  for ([[maybe_unused]] const auto& batch :
       Batches({Array{1.f, 2.f}}, {.size = 1}).epoch(0, {.progress = "e"})) {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));  // a line is drawn every 50 ms
  }
  std::printf("after\n");
  const std::string text = without_times(terminal.text());
  CHECK(text.find("] 1/2  T (T left)\033[?7h") != std::string::npos);
  CHECK(text.ends_with("] 2/2  T\033[?7h\r\nafter\r\n"));
}

TEST_CASE("loops over batches: a loop that ends early ends its line") {
  Terminal terminal;
  if (!terminal.is_open()) return;
  for ([[maybe_unused]] const auto& batch :
       Batches({Array{1.f, 2.f}}, {.size = 1}).epoch(0, {.progress = "first"})) {
    break;
  }
  std::printf("after\n");
  CHECK(terminal.text() ==
        "\r\033[K\033[?7lfirst [>                             ] 0/2\033[?7h\r\n"
        "after\r\n");
}

}  // namespace kiln
