// Tests dumps of compiled backends other than kernels: passes of the pipeline, stages of the
// target, and times of steps that run concurrently.
#include "tests/support/catch.h"
#include "tests/support/scratch.h"
#include "tests/support/has.h"
#include "test_folders.h"

#include "core/types/text.h"

#include <kiln/k.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

namespace K = kiln;
using K::Array, K::Tensor;
using kiln::testing::contents_of, kiln::testing::Scratch;

namespace {

using kiln::testing::has;

/// The line of `table` with that end; empty where there is none.
std::string row_of(const std::string& table, const std::string& end) {
  std::istringstream in(table);
  for (std::string line; std::getline(in, line);) {
    if (line.size() >= end.size() && line.substr(line.size() - end.size()) == end) return line;
  }
  return "";
}

/// A layer as a user's helper function.
Tensor dense(const Tensor& x, const char* name, K::Where where = K::Where::here()) {
  const auto scope = K::name_scope(name, where);
  const Tensor w = K::variable(Array::zeros({4, 4}, K::DType::Float32), {.name = "w"});
  return K::tanh(K::dot(x, w));
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::size_t longest_row(const std::string& table) {
  std::istringstream in(table);
  std::size_t longest = 0;
  for (std::string line; std::getline(in, line);) longest = std::max(longest, line.size());
  return longest;
}

}  // namespace

TEST_CASE("dumps: rows tell layers of one helper apart, name variables and give the path once") {
  const Scratch scratch;
  const Tensor x = K::placeholder({.shape = {3, 4}, .name = "x"});
  const unsigned first_line = __LINE__ + 1;
  const Tensor h = dense(x, "first");
  const Tensor y = dense(h, "second");
  for (const char* backend : {"cpu", "reference"}) {
    INFO(backend);
    const std::string folder = scratch.path(backend);
    const K::Function f = K::function({x}, {y}, {.backend = backend});
    f.dump(folder, K::Stage::Timings);
    f({Array::zeros({3, 4}, K::DType::Float32)});
    f.dump(folder, K::Stage::Plan | K::Stage::MemoryPlan | K::Stage::Kernels | K::Stage::Timings);
    const auto callers = [&](unsigned line, const char* in) {
      return K::text(" in ", in, " (dump_test.cpp:", line, ")");
    };
    for (const char* file : {"/52-plan.txt", "/70-timings-calls.txt"}) {
      const std::string text = contents_of(folder + file);
      INFO(text);
      CHECK(text.starts_with(K::text("# dump_test.cpp: ", __FILE__, "\n")));
      CHECK(count_of(text, __FILE__) == 1);
      CHECK(count_of(text, callers(first_line, "first")) == 2);
      CHECK(count_of(text, callers(first_line + 1, "second")) == 2);
      CHECK(count_of(text, "  # float32 M=3 N=4 K=4; dot at dump_test.cpp:") ==
            (backend == std::string("cpu") ? 2u : 0u));
    }
    const std::string plan = contents_of(folder + "/52-plan.txt");
    INFO(plan);
    CHECK(has(plan, "= input x"));
    CHECK(has(plan, "= variable first/w"));
    CHECK(has(plan, "= variable second/w"));
  }
  const std::string memory = contents_of(scratch.path("cpu/53-memory_plan-sizes_1.txt"));
  INFO(memory);
  CHECK(has(memory, "# input x float32[3,4]\n"));
  CHECK(has(memory, "# variable second/w float32[4,4]\n"));
  const std::string kernels = contents_of(scratch.path("cpu/51-kernels.txt"));
  INFO(kernels);
  CHECK(has(kernels, "kernel k0_first_tanh_line"));
  CHECK(has(kernels, "kernel k1_second_tanh_line"));
  CHECK(count_of(kernels, __FILE__) == 1);
}

TEST_CASE("dumps: rows of kernels that come from many lines and operands are limited") {
  const Scratch scratch;
  constexpr unsigned kLines = 40;
  std::vector<Tensor> inputs;
  Tensor y;
  for (unsigned i = 0; i < kLines; ++i) {
    inputs.push_back(K::placeholder({.shape = {4}}));
    y = K::named_call("step", {"/home/me/a/long/path/to/the/model.cpp", i + 1},
                      [&] { return y.empty() ? K::exp(inputs[i]) : K::exp(y + inputs[i]); });
  }
  const K::Function f = K::function(inputs, {y}, {.backend = "cpu"});
  f.dump(scratch.path("f"), K::Stage::Timings);
  f(std::vector<Array>(kLines, Array{0.f, 0.f, 0.f, 0.f}));
  f.dump(scratch.path("f"), K::Stage::Plan | K::Stage::Timings);
  const std::string plan = contents_of(scratch.path("f/52-plan.txt"));
  INFO(plan);
  CHECK(has(plan, "  # step at model.cpp:1, step at model.cpp:2, "));
  CHECK(has(plan, "step at model.cpp:8 and 32 more\n"));
  const std::string calls = contents_of(scratch.path("f/70-timings-calls.txt"));
  INFO(calls);
  CHECK(has(calls, "...  # step at model.cpp:1, "));
  CHECK(longest_row(calls) < 330);
}

TEST_CASE("dumps: a stage of the target is the text of the kernels that run") {
  const Scratch scratch;
  const Tensor x = K::placeholder({.shape = {K::None}, .name = "x"});
  const K::Function f = K::function({x}, {K::tanh(x) * 2.0f},
                                    {.name = "f",
                                     .backend = KILN_BINARY_DIR "/lib/tests/libkiln_kernel_text.so",
                                     .dump = scratch.path("dump"),
                                     .dump_stages = K::Stage::Kernels | K::Stage::Other});
  const std::string text = contents_of(scratch.path("dump/60-c__.txt"));
  CHECK(has(text, "_tanh_line"));
  const std::string kernels = contents_of(scratch.path("dump/51-kernels.txt"));
  const std::size_t begin = kernels.find("kernel ") + 7;
  CHECK(has(text, kernels.substr(begin, kernels.find('(') - begin)));
  CHECK(f({Array{0.f, 0.f}})[0] == Array{0.f, 0.f});
}

TEST_CASE("dumps: the graph after each step, also of a function compiled before the dump") {
  const Scratch scratch;
  const Tensor x = K::placeholder({.shape = {K::None, 4}, .name = "x"});
  const K::Function f =
      K::function({x}, {K::softmax(x)},
                  {.backend = KILN_BINARY_DIR "/lib/tests/libkiln_kernel_interpreter.so",
                   .dump = scratch.path("dump"),
                   .dump_stages = K::Stage::Passes});
  f.dump(scratch.path("later"), K::Stage::Passes);
  std::size_t count = 0;
  std::string expanded;
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path("dump"))) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("45-")) continue;
    ++count;
    INFO(name);
    CHECK(contents_of(entry.path()) == contents_of(scratch.path("later/" + name)));
    if (name.ends_with("_expand_composites.txt")) expanded = contents_of(entry.path());
  }
  CHECK(count >= 2);
  CHECK(expanded.find(" = exp ") != expanded.npos);
  CHECK(expanded.find(" = softmax ") == expanded.npos);
}

TEST_CASE("dumps: a target without a library has no claims, so it rejects no matmul") {
  const Scratch scratch;
  const Tensor x = K::placeholder({.shape = {2, 3}, .name = "x"});
  const K::Function compiled =
      K::function({x}, {K::dot(x, K::transpose(x))},
                  {.backend = KILN_BINARY_DIR "/lib/tests/libkiln_kernel_interpreter.so",
                   .dump = scratch.path("dump"),
                   .dump_stages = K::Stage::Claims});
  const std::string claims = contents_of(scratch.path("dump/50-claims.txt"));
  INFO(claims);
  CHECK_FALSE(has(claims, "taken"));
}

TEST_CASE("timings: steps that run concurrently have one time for all") {
  const Scratch scratch;
  const Tensor x = K::placeholder({.shape = {}, .name = "x"});
  std::vector<K::UpdateOp> updates;
  for (int i = 0; i < 2; ++i) {
    const Tensor w = K::variable(Array::zeros({400, 500 + i}, K::DType::Float32));
    updates.push_back(K::update_add(w, K::ones_like(w) * x));
  }
  const K::Function f = K::function({x}, {}, {.updates = updates, .backend = "cpu"});
  f.dump(scratch.path("f"), K::Stage::Timings);
  for (int i = 0; i < 3; ++i) f({Array(1.f)});
  f.dump(scratch.path("f"), K::Stage::Timings);
  const std::string calls = contents_of(scratch.path("f/70-timings-calls.txt"));
  INFO(calls);
  CHECK(has(calls, "# 3 calls "));
  CHECK(row_of(calls, "the whole call").substr(0, 10) == "         3");
  CHECK(row_of(calls, "in parallel: 2 steps").substr(0, 10) == "         3");
}

TEST_CASE("timings: calls are not timed unless a dump asks for it") {
  const Scratch scratch;
  const Tensor x = K::placeholder({.shape = {4}, .name = "x"});
  const K::Function f = K::function({x}, {K::exp(x)}, {.backend = "cpu"});
  for (int i = 0; i < 3; ++i) f({Array{0.f, 0.f, 0.f, 0.f}});
  f.dump(scratch.path("f"), K::Stage::Plan | K::Stage::MemoryPlan);
  f({Array{0.f, 0.f, 0.f, 0.f}});
  f.dump(scratch.path("f"), K::Stage::Timings);
  CHECK(has(contents_of(scratch.path("f/70-timings-calls.txt")), "# 0 calls "));
}

TEST_CASE("dumps: each tuple of sizes has its memory plan") {
  const Scratch scratch;
  const Tensor x = K::placeholder({.shape = {K::None, 8}, .name = "x"});
  const Tensor y = K::sum(K::cumsum(K::exp(x), {.axis = 0}));
  const K::Function f = K::function({x}, {y}, {.backend = "cpu"});
  for (const std::int64_t rows : {2, 30, 2}) f({Array::zeros({rows, 8}, K::DType::Float32)});
  f.dump(scratch.path("f"), K::Stage::MemoryPlan);
  CHECK(has(contents_of(scratch.path("f/53-memory_plan-sizes_1.txt")), "float32[2,8]"));
  CHECK(has(contents_of(scratch.path("f/53-memory_plan-sizes_2.txt")), "float32[30,8]"));
  CHECK_FALSE(std::filesystem::exists(scratch.path("f/53-memory_plan-sizes_3.txt")));
}
