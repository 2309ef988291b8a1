// Tests a host whose locale has a decimal comma and groups digits: numbers are written and read as
// in the C locale, and results do not change.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/process/hosts/sample.h"
#include "tests/support/scratch.h"

#include "runtime/config/keras_json.h"

#include <algorithm>
#include <clocale>
#include <filesystem>
#include <locale>
#include <sstream>

using namespace kiln;
using testing::Scratch;
using testing::contents_of;

namespace {

/// Punctuation of German and other locales, without a locale of the system.
struct Comma : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

/// For a scope, sets commas in C++ streams, and in printf and strtod where the system has a locale
/// with them.
class CommaLocale {
 public:
  CommaLocale()
      : stream_(std::locale::global(std::locale(std::locale::classic(), new Comma))),
        c_(std::setlocale(LC_ALL, nullptr)) {
    for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C"}) {
      if (std::setlocale(LC_ALL, name) != nullptr) return;
    }
  }
  ~CommaLocale() {
    std::setlocale(LC_ALL, c_.c_str());
    std::locale::global(stream_);
  }
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;

 private:
  std::locale stream_;
  std::string c_;
};

/// All files below a dump, without times.
std::string dumped(const Function& f, const Scratch& scratch, const std::string& name) {
  f.dump(scratch.path(name));
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch.path(name))) {
    const bool timed = entry.path().filename().string().find("timings") != std::string::npos;
    if (entry.is_regular_file() && !timed) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::string all;
  for (const std::filesystem::path& file : files) {
    all += "== " + file.filename().string() + "\n";
    std::istringstream lines(contents_of(file.string()));
    for (std::string line; std::getline(lines, line);) {
      if (line.find(" ms") == std::string::npos) all += line + "\n";
    }
  }
  return all;
}

struct Written {
  std::string array, error, weights, dump;
};

Written everything(const Scratch& scratch, const std::string& name) {
  Written out;
  std::ostringstream stream;
  stream << Array{1234.5f, -0.001f, 1e30f} << Array(std::vector<std::int32_t>{-1'234'567});
  stream << placeholder({.shape = {None, 12'345}, .name = "x"});
  out.array = stream.str();
  out.error = kiln::testing::error_of<ValueError>([] { set_threads(123'456, Where{}); });
  const Variable w = variable(Array::full({1200}, 0.3), {.name = "w"});
  save_weights(scratch.path(name + ".safetensors"), {w});
  out.weights = contents_of(scratch.path(name + ".safetensors"));
  const Tensor x = placeholder({.shape = {None, 1200}, .name = "x"});
  const Function f =
      function({x}, {tanh(x * 1234.5625) + w * 0.001}, {.name = "f", .backend = "cpu"});
  out.dump = dumped(f, scratch, name);
  return out;
}

}  // namespace

TEST_CASE("locale: texts, files and results do not depend on the host's") {
  const Scratch scratch;
  const Written usual = everything(scratch, "usual");
  CHECK(usual.error.find("123456") != std::string::npos);
  CHECK(usual.dump.find("1200") != std::string::npos);
  const CommaLocale comma;
  const Written other = everything(scratch, "comma");
  CHECK(other.array == usual.array);
  CHECK(other.error == usual.error);
  CHECK(other.weights == usual.weights);
  CHECK(other.dump == usual.dump);
  CHECK(hosts_test::works_on("cpu"));
}

TEST_CASE("locale: files are read alike under the host's") {
  const Scratch scratch;
  const std::string json = scratch.write("keras.json", "{\"epsilon\": 1.5e-3}");
  const Variable w = variable(Array{0.5f, 1234.75f}, {.name = "w"});
  save_weights(scratch.path("w"), {w});
  const CommaLocale comma;
  CHECK(runtime::read_keras_json(json).epsilon.get() == 1.5e-3);
  set_value(w, Array{0.f, 0.f});
  load_weights(scratch.path("w"), {w});
  CHECK(get_value(w) == Array{0.5f, 1234.75f});
}
