// Splits rows into columns, and columns into words.
#include "tools/kiln/collectives_file.h"

#include "core/types/text.h"
#include "runtime/files/file_io.h"

#include <kiln/error.h>

#include <charconv>
#include <optional>
#include <span>
#include <sstream>

namespace kiln::tool {
namespace {

using runtime::distributed::Reduction;
using runtime::distributed::Summand;

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 44;  // so that sums do not wrap

std::string contents_of(const std::string& path) {
  const runtime::InputFile file(path);
  std::string contents(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(contents)));
  return contents;
}

std::vector<std::string> columns_of(const std::string& line) {
  std::vector<std::string> columns;
  for (std::size_t at = line.find_first_not_of(' '); at < line.size();) {
    const std::size_t end = std::min(line.find("  ", at), line.size());
    columns.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(' ', end);
  }
  return columns;
}

std::optional<Reduction> reduction_of(const std::string& name) {
  if (name == "sum") return Reduction::Sum;
  if (name == "max") return Reduction::Max;
  if (name == "min") return Reduction::Min;
  return std::nullopt;
}

std::optional<std::uint64_t> number_of(const std::string& digits) {
  std::uint64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, number);
  if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  return number;
}

/// Collects the rows of a file.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  CollectivesFile read() {
    std::istringstream lines(contents_of(path_));
    for (std::string line; std::getline(lines, line);) {
      ++line_;
      const bool is_comment = line.starts_with('#');
      if (line_ == 1 && !is_comment) break;
      const std::vector<std::string> columns = columns_of(line);
      if (!is_comment && !columns.empty()) add(columns);
      has_header_ = true;
    }
    if (has_header_) return file_;
    line_ = 1;
    reject("a dump's collectives.txt begins with '# number  collective  operand  bytes'");
  }

 private:
  void add(const std::vector<std::string>& columns) {
    if (columns.size() < 4) reject("expected the columns number, collective, operand and bytes");
    std::istringstream collective(columns[1]);
    std::string kind, how;
    collective >> kind >> how;
    if (kind != "all_reduce") {
      ++file_.others;
      return;
    }
    const std::string type = columns[2].substr(0, columns[2].find('['));
    const auto dtype = dtype_of_name(type);
    if (!dtype) reject(text("'", columns[2], "' has no dtype of Kiln"));
    const auto reduction = reduction_of(how);
    const bool has_meaning = reduction && runtime::distributed::is_reducible(*dtype, *reduction);
    if (!has_meaning) reject(text("there is no '", columns[1], "' of ", type));
    if (columns[3] == "?") {
      file_.without_size.push_back(line_);
      return;
    }
    const auto bytes = number_of(columns[3]);
    if (!bytes || *bytes > kMaxBytes || *bytes % dtype_bytes(*dtype) != 0) {
      reject(text("'", columns[3], "' is not the number of bytes of a tensor of ", type));
    }
    file_.all_reduces.push_back({*dtype, *reduction, *bytes});
  }

  [[noreturn]] void reject(const std::string& message) const {
    throw ValueError("kiln scale", "FILE", text(path_, ":", line_, ": ", message));
  }

  const std::string& path_;
  std::size_t line_ = 0;
  bool has_header_ = false;
  CollectivesFile file_;
};

}  // namespace

CollectivesFile read_collectives(const std::string& path) { return Reader(path).read(); }

}  // namespace kiln::tool
