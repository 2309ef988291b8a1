// Tests the short paths of listings.
#include "tests/core/module/programs.h"
#include "tests/support/catch.h"

#include "core/ir/scope.h"
#include "core/module/source_paths.h"
#include "core/ops/build.h"

using namespace kiln;
using namespace kiln::ir;

namespace {

/// A program with a node at a line of each file, in a scope that is entered in `entered`.
module::Module program_of(const std::vector<const char*>& files, const char* entered) {
  Value x = test::placeholder("x", {DType::Float32, {4}});
  const Graph start{{x}, {}, {}};
  const Scope* scope = intern_scope({"encoder", {entered, 1}, nullptr});
  for (const char* file : files) {
    const OriginScope origin({{file, 7}, "tanh", scope}, /*replace=*/true);
    x = unary(Op::Tanh, x);
  }
  return module::make_module({start.inputs, {x}, {}});
}

}  // namespace

TEST_CASE("source paths: a listing has the name of each file, and its path once") {
  const module::SourcePaths paths(
      program_of({"/home/me/model.cpp", "lib/layers.cpp", "plain.cpp"}, "/home/me/my train.cpp"));
  CHECK(paths.shorten("tanh at /home/me/model.cpp:7 in encoder (/home/me/my train.cpp:1)\n"
                      "tanh at /home/me/model.cpp:8, lib/layers.cpp:9, plain.cpp:3\n") ==
        "# model.cpp: /home/me/model.cpp\n"
        "# my train.cpp: /home/me/my train.cpp\n"
        "# layers.cpp: lib/layers.cpp\n"
        "tanh at model.cpp:7 in encoder (my train.cpp:1)\n"
        "tanh at model.cpp:8, layers.cpp:9, plain.cpp:3\n");
  // Only paths with a line, and whole ones.
  for (const char* same : {"", "tanh at plain.cpp:3", "wrote /home/me/model.cpp",
                           "x/lib/layers.cpp:9", "/home/me/model.cpp.o:7"}) {
    CHECK(paths.shorten(same) == same);
  }
}

TEST_CASE("source paths: files of one name have as many folders as tell them apart") {
  const module::SourcePaths paths(
      program_of({"/a/b/m.cpp", "/x/c/b/m.cpp", "/c/d/m.cpp", "/m.cpp"}, "/c/x.cpp"));
  CHECK(paths.shorten("/a/b/m.cpp:1 /x/c/b/m.cpp:2 /c/d/m.cpp:3 /m.cpp:4 /c/x.cpp:5") ==
        "# d/m.cpp: /c/d/m.cpp\n"
        "# x.cpp: /c/x.cpp\n"
        "# c/b/m.cpp: /x/c/b/m.cpp\n"
        "/a/b/m.cpp:1 c/b/m.cpp:2 d/m.cpp:3 /m.cpp:4 x.cpp:5");
}

TEST_CASE("source paths: files of nodes in bodies count") {
  const module::Module program = [] {
    const OriginScope origin({{"/home/me/loop.cpp", 3}, "rnn"}, /*replace=*/true);
    return test::nested_program(2);
  }();
  CHECK(module::SourcePaths(program).shorten("at /home/me/loop.cpp:3") ==
        "# loop.cpp: /home/me/loop.cpp\nat loop.cpp:3");
}
