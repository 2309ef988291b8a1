// ProgressLine: one line of a terminal that shows how far a loop is.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace kiln {

/// Writes to standard output, and only if that is a terminal. Threads: one at a time.
class ProgressLine {
 public:
  /// `title` is empty for no line.
  ProgressLine(std::string title, std::int64_t total);

  /// Sets the value of that name; the next draw shows it.
  void show(const std::string& name, std::function<double()> value);
  /// Draws the line anew, unless it was drawn less than 50 ms ago and done < total.
  void draw(std::int64_t done);
  /// Ends the line if one was drawn, so that later text begins on a line of its own.
  void end();

 private:
  using Time = std::chrono::steady_clock::time_point;

  /// "epoch 3 [=====>    ] 17/32  0:08 (0:07 left)  loss 0.25"; without time and values while
  /// nothing is done, as values would be those before the loop.
  std::string line(std::int64_t done, Time now) const;

  std::string title_;
  std::int64_t total_;
  bool is_shown_;
  bool is_open_ = false;  // whether the cursor is behind a drawn line
  std::int64_t first_ = 0;   // `done` when the line was opened
  Time opened_ = {};
  Time drawn_ = {};
  std::vector<std::pair<std::string, std::function<double()>>> values_;
};

}  // namespace kiln
