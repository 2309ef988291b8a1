// Prints a profile as tables, each with its largest rows.
#include "core/k/base/call.h"
#include "core/types/characters.h"
#include "core/types/fp_environment.h"
#include "core/types/text.h"
#include "runtime/profile/later_calls.h"

#include <kiln/profile.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iomanip>
#include <ostream>

namespace kiln {
namespace {

constexpr std::size_t kMaxRows = 20, kMaxSums = 10, kMaxTensors = 10, kMaxEvents = 10;
constexpr std::size_t kMinWidth = 40;

/// 0: lines are not cut.
std::size_t line_width() {
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr && *columns != '\0') {
    std::size_t width = 0;
    std::from_chars(columns, columns + std::strlen(columns), width);
    return width == 0 ? 0 : std::max(width, kMinWidth);
  }
  winsize window{};
  const bool is_terminal = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col != 0;
  return is_terminal ? std::max<std::size_t>(window.ws_col, kMinWidth) : 0;
}

std::string number(double value, int digits) {
  TextStream out;
  out << std::fixed << std::setprecision(digits) << value;
  return std::move(out).str();
}

std::string bytes_text(std::int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes < 10240) return text(bytes, " B");
  if (bytes < (std::int64_t{10} << 20)) return number(value / 1024, 1) + " KiB";
  return number(value / (1 << 20), 1) + " MiB";
}

std::string_view without_folders(std::string_view file) { return file.substr(file.rfind('/') + 1); }

/// "dot at model.cpp:45".
std::string op_and_line(const ProfileOrigin& place) {
  if (place.file.empty()) return place.function;
  return text(place.function, place.function.empty() ? "" : " at ", without_folders(place.file),
              ":", place.line);
}

/// Rows of cells; numbers are aligned at their right.
class Table {
 public:
  explicit Table(std::size_t numbers) : numbers_(numbers) {}

  void add(std::vector<std::string> cells) {
    widths_.resize(std::max(widths_.size(), cells.size()));
    for (std::size_t i = 0; i < cells.size(); ++i) {
      widths_[i] = std::max(widths_[i], count_characters(cells[i]));
    }
    rows_.push_back(std::move(cells));
  }

  void print(std::ostream& out, std::size_t width) const {
    for (const std::vector<std::string>& cells : rows_) {
      std::string line;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        if (widths_[i] == 0) continue;  // nothing is known
        const std::string space(widths_[i] - count_characters(cells[i]), ' ');
        line += "  ";
        line += i < numbers_ ? space + cells[i] : cells[i] + space;
      }
      line.erase(line.find_last_not_of(' ') + 1);
      if (width != 0 && count_characters(line) > width) {
        line = text(first_characters(line, width - 3), "...");
      }
      out << line << "\n";
    }
  }

 private:
  std::size_t numbers_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> widths_;
};

class ProfileTables {
 public:
  ProfileTables(std::ostream& out, const Profile& profile)
      : out_(out), profile_(profile), width_(line_width()) {}

  void print() {
    print_head();
    print_rows();
    print_sums("by scope", profile_.scopes);
    print_sums("by line", profile_.lines);
    print_sums("by function", profile_.functions);
    print_tensors();
    print_events();
    for (const std::string& note : profile_.notes) out_ << "note: " << note << "\n";
  }

 private:
  void print_head() {
    out_ << profile_.function << " on " << profile_.backend << ": " << profile_.calls
         << (profile_.calls == 1 ? " call" : " calls");
    if (profile_.calls != 0 && profile_.without_times.empty()) print_times();
    out_ << "\n";
    if (!profile_.without_times.empty()) out_ << "  " << profile_.without_times << "\n";
  }

  void print_times() {
    out_ << ", " << per_call(profile_) << " " << unit() << " each";
    if (!runtime::has_later_calls(profile_)) return;
    const auto print = [&](const char* words, double seconds) {
      out_ << words << in_unit(seconds) << " " << unit();
    };
    print(" after the first, which took ", profile_.first_seconds);
    if (profile_.shortest > 0) print("; the shortest took ", profile_.shortest);
  }

  template <class Timed>
  double later(const Timed& one) const {
    return runtime::later_seconds(profile_, one);
  }
  /// The mean of the later calls.
  template <class Timed>
  double of_call(const Timed& one) const {
    const std::int64_t calls = profile_.calls - (runtime::has_later_calls(profile_) ? 1 : 0);
    return later(one) / static_cast<double>(std::max<std::int64_t>(calls, 1));
  }
  bool is_short() const { return of_call(profile_) < 1e-3; }
  const char* unit() const { return is_short() ? "us" : "ms"; }
  std::string in_unit(double seconds) const {
    return number(seconds * (is_short() ? 1e6 : 1e3), 3);
  }
  template <class Timed>
  std::string per_call(const Timed& one) const {
    return in_unit(of_call(one));
  }

  std::string share(double seconds) const {
    const double whole = later(profile_);
    return number(whole > 0 ? 100 * seconds / whole : 0, 1) + "%";
  }

  /// `first`: the part of the amount in the first call.
  std::string rate(double amount, double first, const ProfileRow& row) const {
    const double later_amount = runtime::has_later_calls(profile_) ? amount - first : amount;
    const double seconds = later(row);
    return later_amount > 0 && seconds > 0 ? number(later_amount / seconds * 1e-9, 1) : "";
  }

  void print_rows() {
    if (profile_.rows.empty()) return;
    Table table(5);
    table.add({"share", text(unit(), " a call"), "shortest", "GB/s", "GFLOP/s", "scope",
               "function and line", "step"});
    double left = 0;
    for (std::size_t i = 0; i < profile_.rows.size(); ++i) {
      const ProfileRow& row = profile_.rows[i];
      if (i >= kMaxRows) {
        left += later(row);
        continue;
      }
      const bool has_place = !row.places.empty();
      const std::string more =
          row.places.size() > 1 ? text(" and ", row.places.size() - 1, " more") : "";
      table.add({share(later(row)), per_call(row), row.shortest > 0 ? in_unit(row.shortest) : "",
                 rate(row.bytes, row.first_bytes, row),
                 rate(row.operations, row.first_operations, row),
                 has_place ? row.places[0].scope : "",
                 has_place ? op_and_line(row.places[0]) + more : "", row.step});
    }
    table.print(out_, width_);
    if (profile_.rows.size() > kMaxRows) {
      out_ << "  " << profile_.rows.size() - kMaxRows << " more rows: " << share(left) << "\n";
    }
  }

  void print_sums(const char* title, const std::vector<ProfileSum>& sums) {
    if (sums.empty()) return;
    out_ << title << "\n";
    Table table(2);
    for (std::size_t i = 0; i < std::min(sums.size(), kMaxSums); ++i) {
      table.add({share(later(sums[i])), per_call(sums[i]), sums[i].name});
    }
    table.print(out_, width_);
    if (sums.size() > kMaxSums) out_ << "  " << sums.size() - kMaxSums << " more\n";
  }

  void print_tensors() {
    if (profile_.tensors.empty()) return;
    out_ << "memory\n";
    Table table(1);
    for (std::size_t i = 0; i < std::min(profile_.tensors.size(), kMaxTensors); ++i) {
      const ProfileTensor& one = profile_.tensors[i];
      table.add(
          {bytes_text(one.bytes), one.kind, one.name, one.place.scope, op_and_line(one.place)});
    }
    table.print(out_, width_);
    if (profile_.tensors.size() > kMaxTensors) {
      out_ << "  " << profile_.tensors.size() - kMaxTensors << " more\n";
    }
  }

  void print_events() {
    if (profile_.events.empty()) return;
    out_ << "compiled and prepared\n";
    Table table(1);
    for (std::size_t i = 0; i < std::min(profile_.events.size(), kMaxEvents); ++i) {
      const ProfileEvent& one = profile_.events[i];
      const std::string reason = one.reason.empty() ? "" : ": " + one.reason;
      table.add({number(one.seconds * 1e3, 3) + " ms", one.what + reason});
    }
    table.print(out_, width_);
    if (profile_.events.size() > kMaxEvents) {
      out_ << "  " << profile_.events.size() - kMaxEvents << " more\n";
    }
  }

  std::ostream& out_;
  const Profile& profile_;
  const std::size_t width_;
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const Profile& profile) {
  return translate_exceptions("operator<<", {}, [&]() -> std::ostream& {
    const ScopedFpEnvironment usual;
    TextStream tables;
    ProfileTables(tables, profile).print();
    return out << tables.str();
  });
}

}  // namespace kiln
