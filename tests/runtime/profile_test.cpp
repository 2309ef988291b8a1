// Tests profiles of functions: where the time went, what was counted, and what was compiled.
#include "tests/support/catch.h"
#include "tests/support/child.h"
#include "tests/support/environment.h"
#include "tests/support/error_text.h"
#include "tests/support/has.h"
#include "tests/support/scratch.h"

#include "core/types/escaped_text.h"
#include "runtime/host/log.h"
#include "runtime/profile/backend_profile.h"
#include "runtime/profile/measured_program.h"
#include "runtime/profile/profile_json.h"

#include <kiln/k.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using namespace kiln;
using namespace std::chrono_literals;
using testing::error_text, testing::has, testing::Scratch;

namespace {

const std::vector<std::string> kBackends{"cpu", "reference"};

Array zeros_of(std::vector<std::int64_t> dims) {
  return Array::zeros(std::move(dims), DType::Float32);
}

/// The row with that K function at its first place.
const ProfileRow* row_of(const Profile& profile, const std::string& function) {
  const auto found = std::find_if(profile.rows.begin(), profile.rows.end(), [&](const auto& row) {
    return !row.places.empty() && row.places[0].function == function;
  });
  return found == profile.rows.end() ? nullptr : &*found;
}

double sum_of_rows(const Profile& profile) {
  return std::accumulate(profile.rows.begin(), profile.rows.end(), 0.0,
                         [](double sum, const ProfileRow& row) { return sum + row.seconds; });
}

std::string printed(const Profile& profile) {
  std::ostringstream out;
  out << profile;
  return out.str();
}

}  // namespace

TEST_CASE("profile: the slow one of two layers is first, by its line") {
  set_print_sink([](std::string_view) { std::this_thread::sleep_for(100ms); });
  for (const std::string& backend : kBackends) {
    INFO(backend);
    const Tensor x = placeholder({.shape = {None, 8}, .name = "x"});
    const Tensor quick = tanh(dot(x, zeros({8, 4})));
    const int line = __LINE__ + 1;
    const Tensor slow = print_tensor(quick) + 1;
    const Function f = function({x}, {sum(slow)}, {.name = "two layers", .backend = backend});
    const Profiler profiler = f.profile();
    for (int i = 0; i < 2; ++i) f({zeros_of({3, 8})});
    const Profile profile = profiler.result();
    INFO(printed(profile));
    CHECK(profile.function == "two layers");
    CHECK(profile.backend == backend);
    CHECK(profile.without_times.empty());
    CHECK(profile.calls == 2);
    CHECK(profile.seconds >= 0.2);
    REQUIRE(!profile.rows.empty());
    REQUIRE(!profile.rows[0].places.empty());
    CHECK(profile.rows[0].places[0].function == "print_tensor");
    CHECK(profile.rows[0].places[0].line == line);
    CHECK(profile.rows[0].calls == 2);
    REQUIRE(!profile.lines.empty());
    CHECK(has(profile.lines[0].name, "profile_test.cpp:" + std::to_string(line)));
    CHECK(profile.functions[0].name == "print_tensor");
    CHECK(sum_of_rows(profile) == Approx(profile.seconds));
  }
  set_print_sink({});
}

TEST_CASE("profile: the first call has its own time, and the others their mean and least") {
  for (const std::string& backend : kBackends) {
    INFO(backend);
    static std::atomic<int> printed_tensors;
    printed_tensors = 0;
    set_print_sink([](std::string_view) {
      std::this_thread::sleep_for(printed_tensors++ == 0 ? 200ms : 2ms);
    });
    const Tensor x = placeholder({.shape = {8}});
    const Function f = function({x}, {print_tensor(exp(x))}, {.backend = backend});
    {
      const Profiler profiler = f.profile();
      for (int i = 0; i < 3; ++i) f({zeros_of({8})});
      const Profile profile = profiler.result();
      INFO(printed(profile));
      CHECK(profile.seconds >= 0.2);
      CHECK(profile.first_seconds >= 0.2);
      CHECK(profile.shortest >= 0.002);
      CHECK(profile.shortest <= (profile.seconds - profile.first_seconds) / 2);
      const ProfileRow* slow = row_of(profile, "print_tensor");
      REQUIRE(slow != nullptr);
      CHECK(slow->first_seconds >= 0.2);
      CHECK(slow->shortest >= 0.002);
      CHECK(slow->shortest < 0.2);
      CHECK(profile.functions[0].first_seconds >= 0.2);
      CHECK(has(printed(profile), "3 calls, "));
      CHECK(has(printed(profile), " ms each after the first, which took 2"));
      const ProfileRow* kernel = row_of(profile, "exp");
      REQUIRE(kernel != nullptr);
      CHECK(has(kernel->step, " : float32"));
      CHECK(kernel->first_bytes == kernel->bytes / 3);
    }
    const Profiler later = f.profile();
    f({zeros_of({8})});
    CHECK(later.result().first_seconds > 0);
    CHECK(later.result().first_seconds < 0.2);
    const Profiler inner = f.profile();
    f({zeros_of({8})});
    CHECK(inner.result().first_seconds == 0);  // the first call was before
    CHECK(inner.result().calls == 1);
    CHECK(later.result().calls == 2);
  }
  set_print_sink({});
}

TEST_CASE("profile: lines are cut between characters") {
  const testing::EnvironmentVariable columns("COLUMNS", "100");
  Profile profile;
  profile.seconds = 3;
  profile.calls = 1;
  for (const char* step : {"", "a", "ab"}) {
    ProfileRow& row = profile.rows.emplace_back();
    row.seconds = 1;
    row.step = step;
    for (int i = 0; i < 60; ++i) row.step += "\u20ac";
  }
  std::istringstream lines(printed(profile));
  int cut = 0;
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(is_utf8(line));
    cut += line.ends_with("\u20ac...") ? 1 : 0;
  }
  CHECK(cut == 3);
}

TEST_CASE("profile: only calls between its begin and its end count") {
  for (const std::string& backend : kBackends) {
    INFO(backend);
    const Tensor x = placeholder({.shape = {4}});
    const Function f = function({x}, {exp(x)}, {.backend = backend}), copy = f;
    const auto call = [&](const Function& one) { one({zeros_of({4})}); };
    call(f);
    Profiler outer = f.profile();
    call(f);
    {
      Profiler inner = copy.profile();
      call(copy);
      inner.stop();
      call(f);
      CHECK(inner.result().calls == 1);
      inner.stop();
      CHECK(inner.result().calls == 1);
    }
    call(f);
    CHECK(outer.result().calls == 4);
    outer.stop();
    call(f);
    CHECK(outer.result().calls == 4);
    REQUIRE(row_of(outer.result(), "exp") != nullptr);
    CHECK(row_of(outer.result(), "exp")->calls == 4);
    CHECK(f.profile().result().calls == 0);
    CHECK(f.profile().result().rows.empty());
    const Profiler moved = std::move(outer);
    CHECK(moved.result().calls == 4);
  }
}

TEST_CASE("profile: a dump of all stages neither writes it nor ends it") {
  const Scratch scratch;
  const Tensor x = placeholder({.shape = {4}});
  const Function f = function({x}, {exp(x)}, {.backend = "cpu"});
  const Profiler profiler = f.profile();
  f.dump(scratch.path("f"));
  f({zeros_of({4})});
  CHECK(profiler.result().calls == 1);
  for (const auto& file : std::filesystem::directory_iterator(scratch.path("f"))) {
    CHECK_FALSE(has(file.path().filename().string(), "profile"));
  }
}

TEST_CASE("profile: bytes and operations are those of the sizes of the calls") {
  const Tensor x = placeholder({.shape = {None, 32}}), w = variable(zeros_of({32, 16}));
  const Function f = function({x}, {dot(x, w)}, {.backend = "cpu"});
  const Function g = function({x}, {softmax(x)}, {.backend = "cpu"});
  const Profiler of_f = f.profile(), of_g = g.profile();
  for (const std::int64_t rows : {10, 30}) {
    f({zeros_of({rows, 32})});
    g({zeros_of({rows, 32})});
  }
  const Profile dots = of_f.result(), softmaxes = of_g.result();
  const ProfileRow* matmul = row_of(dots, "dot");
  REQUIRE(matmul != nullptr);
  CHECK(matmul->operations == 2 * 40 * 32 * 16);
  CHECK(matmul->bytes == 4 * (40 * 32 + 2 * 32 * 16 + 40 * 16));
  const ProfileRow* kernel = row_of(softmaxes, "softmax");
  REQUIRE(kernel != nullptr);
  CHECK(kernel->bytes == 4 * 2 * 40 * 32);
  // Of an element: two reductions, a difference, an exponential, and a division or a product.
  CHECK(kernel->operations >= 4 * 40 * 32);
  CHECK(kernel->operations <= 6 * 40 * 32);
}

TEST_CASE("profile: operations of a kernel with 64 axes") {
  const std::vector<ShapeEntry> unknown(64, ShapeEntry(None));
  std::vector<std::int64_t> reversed(64), sizes(64, 1);
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  sizes.front() = sizes.back() = 3;
  const Tensor x = placeholder({.shape = unknown});
  const Function f = function({x}, {exp(x + permute_dimensions(x, reversed))}, {.backend = "cpu"});
  const Profiler profiler = f.profile();
  f({zeros_of(sizes)});
  const Profile profile = profiler.result();
  const ProfileRow* kernel = row_of(profile, "operator+");
  REQUIRE(kernel != nullptr);
  CHECK(kernel->operations == 2 * 9);
}

TEST_CASE("profile: the steps of a loop are rows of their own, and no time counts twice") {
  for (const std::string& backend : kBackends) {
    INFO(backend);
    const Tensor x = placeholder({.shape = {None, 5, 3}});
    const Tensor w = variable(zeros_of({3, 3}));
    const auto step = [&](const Tensor& now, const std::vector<Tensor>& states) -> StepResult {
      const Tensor h = tanh(dot(now + states[0], w));
      return {h, {h}};
    };
    const Tensor start = zeros_like(sum(x, {.axis = 1}));
    const Function f = function({x}, {rnn(step, x, {start}).last_output}, {.backend = backend});
    const Profiler profiler = f.profile();
    for (int i = 0; i < 3; ++i) f({zeros_of({64, 5, 3})});
    const Profile profile = profiler.result();
    INFO(printed(profile));
    const ProfileRow* inner = row_of(profile, "dot");
    REQUIRE(inner != nullptr);
    CHECK(inner->calls >= 15);
    CHECK(sum_of_rows(profile) == Approx(profile.seconds));
    for (const ProfileRow& row : profile.rows) CHECK(row.seconds >= 0);
  }
}

TEST_CASE("profile: what was compiled and prepared, and why") {
  const Tensor x = placeholder({.shape = {None, 2}, .name = "x"});
  const Function f = function({x}, {exp(x) * 3}, {.backend = "cpu"});
  Profiler profiler = f.profile();
  for (const std::int64_t rows : {2, 3, 2}) f({zeros_of({rows, 2})});
  const std::vector<ProfileEvent> events = profiler.result().events;
  REQUIRE(events.size() == 3);
  CHECK(events[0].what == "compiled for cpu");
  CHECK(events[0].reason == "new code, as no earlier function is equal");
  CHECK(events[0].seconds > 0);
  CHECK(events[1].what == "prepared for x [2,2]");
  CHECK(events[1].reason == "the first sizes");
  CHECK(events[2].what == "prepared for x [3,2]");
  CHECK(events[2].reason == "x.0 was 2 and is 3");
  const Profiler later = f.profile();
  f({zeros_of({7, 2})});
  REQUIRE(later.result().events.size() == 2);
  CHECK(later.result().events[1].reason == "x.0 was 3 and is 7");
  const auto make = [&] { return function({x}, {exp(x) * 4}, {.backend = "cpu"}); };
  const Function first = make(), second = make();
  CHECK(second.profile().result().events[0].reason == "the code of an equal, earlier function");
}

TEST_CASE("profile: tensors by bytes, by the names of variables and placeholders") {
  const Tensor x = placeholder({.shape = {None, 50}, .name = "pixels"});
  const Tensor w = variable(zeros_of({50, 600}), {.name = "weights"});
  const Function f = function({x}, {sum(cumsum(dot(x, w), {.axis = 0}))}, {.backend = "cpu"});
  const Profiler profiler = f.profile();
  f({zeros_of({100, 50})});
  const Profile profile = profiler.result();
  const auto tensor = [&](const std::string& part) {
    const auto found = std::find_if(profile.tensors.begin(), profile.tensors.end(),
                                    [&](const ProfileTensor& one) { return has(one.name, part); });
    return found == profile.tensors.end() ? ProfileTensor{} : *found;
  };
  INFO(printed(profile));
  CHECK(tensor("weights float32[50,600]").bytes == 4 * 50 * 600);
  CHECK(tensor("weights float32[50,600]").kind == "argument");
  CHECK(tensor("pixels float32[100,50]").bytes == 4 * 100 * 50);
  REQUIRE(!profile.tensors.empty());
  CHECK(profile.tensors[0].name == "float32[100,600]");
  CHECK(profile.tensors[0].bytes == 4 * 100 * 600);
  CHECK(profile.tensors[0].place.function == "dot");
}

TEST_CASE("profile: sums of scopes have those of the scopes within them") {
  Profile profile;
  const auto row = [](double seconds, std::vector<ProfileOrigin> places) {
    ProfileRow made;
    made.seconds = seconds;
    made.places = std::move(places);
    return made;
  };
  profile.seconds = 10;
  profile.rows = {
      row(2, {{.scope = "encoder", .function = "relu", .file = "a.cpp", .line = 3}}),
      row(8,
          {{.scope = "encoder/dense", .function = "dot", .file = "a.cpp", .line = 1, .share = 0.75},
           {.scope = "loss", .function = "mean", .file = "b.cpp", .line = 2, .share = 0.25}})};
  runtime::finish_profile(profile);
  CHECK(profile.rows[0].seconds == 8);
  REQUIRE(profile.scopes.size() == 3);
  CHECK(profile.scopes[0].name == "encoder");
  CHECK(profile.scopes[0].seconds == 8);
  CHECK(profile.scopes[1].name == "encoder/dense");
  CHECK(profile.scopes[1].seconds == 6);
  CHECK(profile.scopes[2].name == "loss");
  REQUIRE(profile.lines.size() == 3);
  CHECK(profile.lines[0].name == "a.cpp:1");
  CHECK(profile.functions[0].name == "dot");
  const std::string table = printed(profile);
  CHECK(has(table, "encoder/dense"));
  CHECK(has(table, "dot at a.cpp:1 and 1 more"));
  CHECK(has(table, "60.0%"));

  const std::string json = runtime::profile_json(profile);
  CHECK(std::count(json.begin(), json.end(), '\n') == 1);
  const Profile read = runtime::parse_profile_json(json, "it");
  CHECK(runtime::profile_json(read) == json);
  CHECK(read.rows[0].places[1].scope == "loss");
  for (const char* damaged : {"{", "[]", "{\"function\": 1}", "{}"}) {
    INFO(damaged);
    CHECK(error_text<IoError>([&] { runtime::parse_profile_json(damaged, "it"); }) != "");
  }
}

TEST_CASE("profile: a backend's malformed one is an error that names the line and the reason") {
  struct Case {
    const char* text;
    const char* reason;
  };
  const std::string head = "kiln-profile\t1\n";
  const Case cases[] = {{"", "at line 1: it is empty"},
                        {"kiln-profile\t2\n", "at line 1: the first line is not"},
                        {"call\t1\n", "at line 1: it has too few fields"},
                        {"call\t-1\t1\n", "at line 2: '-1' is no number"},
                        {"call\t1\tnan\n", "at line 2: 'nan' is no number"},
                        {"call\t1\t2\nstep\t0\t1\t1\t1\n", "at line 3: it has too few fields"},
                        {"tensor\t1e3\ta\tb\n", "at line 2: '1e3' is no number"}};
  for (const Case& one : cases) {
    const std::string text = one.text;
    const bool is_whole = text.empty() || text.starts_with("kiln");
    INFO(text);
    const std::string error = error_text<BackendError>(
        [&] { runtime::parse_profile(is_whole ? text : head + text, "odd"); });
    const std::string reason = one.reason;
    CHECK(has(error, "the profile of backend odd is malformed "));
    CHECK(has(error, reason.substr(reason.find(": "))));
  }
  const runtime::BackendProfile profile =
      runtime::parse_profile(head + "call\t2\t0.5\nnew record\nnote\tn\\\xff\n", "odd");
  CHECK(profile.calls == 2);
  CHECK(profile.notes == std::vector<std::string>{"n\\\\xff"});
}

TEST_CASE("profile: threads call and others measure", "[concurrency]") {
  const Tensor x = placeholder({.shape = {None, 8}});
  const Function f = function({x}, {tanh(dot(x, zeros({8, 8})))}, {.backend = "cpu"});
  constexpr int kThreads = 3, kCalls = 60;
  const Profiler whole = f.profile();
  std::atomic<bool> is_done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kCalls; ++i) f({zeros_of({1 + (t + i) % 3, 8})});
    });
  }
  std::thread measures([&] {
    while (!is_done) {
      Profiler part = f.profile();
      static_cast<void>(part.result());
      part.stop();
      static_cast<void>(whole.result());
    }
  });
  for (std::thread& thread : threads) thread.join();
  is_done = true;
  measures.join();
  CHECK(whole.result().calls == kThreads * kCalls);
}

TEST_CASE("profile: of an empty Function there is none") {
  CHECK(has(error_text<ValueError>([] { static_cast<void>(Function().profile()); }),
            "an empty Function"));
}

TEST_CASE("profile: KILN_PROFILE that cannot be written is one warning, and no error") {
  const Scratch scratch;
  const std::string path = scratch.path("none/calls.jsonl");
  CHECK(testing::in_new_process("[.unwritable_profile]", "KILN_PROFILE", path.c_str()) == 0);
}

TEST_CASE("child: calls functions that cannot be recorded", "[.unwritable_profile]") {
  static std::vector<std::string> lines;
  runtime::set_log_sink([](runtime::LogLevel, std::string_view line) { lines.emplace_back(line); });
  const Tensor x = placeholder({.shape = {2}});
  for (const double factor : {2., 3.}) {
    const Function f = function({x}, {x * factor}, {.backend = "cpu"});
    REQUIRE(lines.size() == 1);  // before any call
    CHECK(has(lines[0], "kiln: warning: profile: cannot write the profile to "));
    CHECK(has(lines[0], "none/calls.jsonl (KILN_PROFILE): No such file or directory"));
    f({zeros_of({2})});
  }
  CHECK(lines.size() == 1);
}
