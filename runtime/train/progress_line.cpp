// ProgressLine: one line of a terminal that shows how far a loop is.
#include "runtime/train/progress_line.h"

#include "core/types/text.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace kiln {
namespace {

/// REQUIRES: 0 <= done <= total, total > 0.
std::string bar(std::int64_t done, std::int64_t total) {
  constexpr std::size_t kWidth = 30;
  const double part = static_cast<double>(done) / static_cast<double>(total);
  const auto filled = static_cast<std::size_t>(part * kWidth);
  std::string text(filled, '=');
  if (filled < kWidth) text += '>';
  text.resize(kWidth, ' ');
  return text;
}

/// "0:07" for 7 seconds.
std::string clock_text(double seconds) {
  constexpr double kMax = 1e9;  // of an estimate that means never
  const auto whole = static_cast<std::int64_t>(std::min(seconds, kMax));
  const std::int64_t rest = whole % 60;
  return text(whole / 60, rest < 10 ? ":0" : ":", rest);
}

}  // namespace

ProgressLine::ProgressLine(std::string title, std::int64_t total)
    : title_(std::move(title)),
      total_(total),
      is_shown_(!title_.empty() && isatty(STDOUT_FILENO) != 0) {}

void ProgressLine::show(const std::string& name, std::function<double()> value) {
  for (auto& [known, shown] : values_) {
    if (known != name) continue;
    shown = std::move(value);
    return;
  }
  values_.emplace_back(name, std::move(value));
}

void ProgressLine::draw(std::int64_t done) {
  if (!is_shown_) return;
  const auto now = std::chrono::steady_clock::now();
  const bool is_recent = is_open_ && now - drawn_ < std::chrono::milliseconds(50);
  if (is_recent && done < total_) return;
  if (!is_open_) {
    first_ = done;
    opened_ = now;
  }
  // Without DECAWM, the terminal cuts a long line instead of continuing it on the next one, from
  // which \r would not lead back.
  const std::string text = "\r\033[K\033[?7l" + line(done, now) + "\033[?7h";
  drawn_ = now;
  is_open_ = true;
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void ProgressLine::end() {
  if (!is_open_) return;
  is_open_ = false;
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

std::string ProgressLine::line(std::int64_t done, Time now) const {
  TextStream out;
  out << title_ << " [" << bar(done, total_) << "] " << done << "/" << total_;
  if (done <= first_) return std::move(out).str();
  const double seconds = std::chrono::duration<double>(now - opened_).count();
  const double left = seconds * static_cast<double>(total_ - done);
  out << "  " << clock_text(seconds);
  if (done < total_) {
    out << " (" << clock_text(left / static_cast<double>(done - first_)) << " left)";
  }
  out.precision(4);
  for (const auto& [name, value] : values_) out << "  " << name << " " << value();
  return std::move(out).str();
}

}  // namespace kiln
