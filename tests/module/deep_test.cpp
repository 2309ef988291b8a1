// Depth of the graph needs no stack, and time follows length: a chain of a million nodes is
// written, read, printed and verified on a thread with a 256 KiB stack.
#include "tests/catch.h"
#include "tests/module/programs.h"

#include "core/module/dot.h"
#include "core/module/parse.h"
#include "core/module/print.h"
#include "core/module/read.h"
#include "core/module/verify.h"
#include "core/module/write.h"
#include "core/ops/build.h"

using namespace kiln;
using namespace kiln::ir;

namespace {

module::Module chain(std::size_t length) {
  const Value x = test::placeholder("x", {DType::Float32, {Dim::fresh("n"), 2}});
  Value value = x;
  for (std::size_t i = 0; i < length; ++i) value = value + x;
  return module::make_module({{x}, {value}, {}});
}

}  // namespace

TEST_CASE("a chain of a million nodes crosses in both forms", "[slow]") {
  bool same_bytes = false, same_text = false, sound = false, drawn = false;
  CHECK(test::run_on_small_stack([&] {
    const module::Module program = chain(1'000'000);
    sound = !module::verify(program.graph);
    const module::Encoded bytes = module::write_module(program);
    const std::string text = module::print_module(program);
    {
      const module::Module back = module::read_module(bytes.bytes);
      same_bytes = module::write_module(back).bytes == bytes.bytes;
    }
    same_text = module::print_module(module::parse_module(text)) == text;
    drawn = !module::print_dot(program.graph, "chain").empty();
  }));
  CHECK(sound);
  CHECK(same_bytes);
  CHECK(same_text);
  CHECK(drawn);
}
