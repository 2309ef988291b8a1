// Laps of one clock.
#include "backends/codegen/inspect/compile_times.h"

#include "core/types/text.h"

#include <iomanip>

namespace kiln::codegen {

void CompileTimes::lap(std::string_view part) {
  const Clock::time_point now = Clock::now();
  seconds_.emplace_back(part, std::chrono::duration<double>(now - start_).count());
  start_ = now;
}

std::string CompileTimes::print() const {
  std::string out = "# milliseconds of compiling\n";
  double whole = 0;
  for (const auto& [part, seconds] : seconds_) {
    out += in_column(seconds * 1e3, 12, 3) + "  " + part + "\n";
    whole += seconds;
  }
  return out + in_column(whole * 1e3, 12, 3) + "  in all\n";
}

std::string in_column(double value, int width, int digits) {
  TextStream out;
  out << std::fixed << std::setprecision(digits) << std::setw(width) << value;
  return std::move(out).str();
}

}  // namespace kiln::codegen
