// Tests that depth needs no stack and time is linear: a chain of a million nodes is written, read,
// printed and verified on a thread with a 256 KiB stack.
#include "tests/support/deep.h"
#include "tests/core/module/programs.h"

#include "core/module/parse.h"
#include "core/module/print.h"
#include "core/module/read.h"
#include "core/module/verify.h"
#include "core/module/write.h"
#include "core/ops/build.h"

#include <stdexcept>

using namespace kiln;
using namespace kiln::ir;

namespace {

module::Module chain(std::size_t length) {
  const Value x = test::placeholder("x", {DType::Float32, {Dim::fresh("n"), 2}});
  Value value = x;
  for (std::size_t i = 0; i < length; ++i) value = value + x;
  return module::make_module({{x}, {value}, {}});
}

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

}  // namespace

TEST_CASE("deep graphs: a million nodes round-trip in both forms in linear time", "[slow]") {
  test::check_linear(1'000'000, [](std::size_t length, test::Laps& laps) {
    const module::Module program = chain(length);
    laps.end("build");
    require(!module::verify(program.graph), "the chain is rejected");
    laps.end("verify");
    const module::Encoded bytes = module::write_module(program);
    laps.end("write");
    {
      const module::Module back = module::read_module(bytes.bytes);
      laps.end("read");
      require(module::write_module(back).bytes == bytes.bytes, "the bytes differ");
    }
    laps.end("write again");
    const std::string text = module::print_module(program);
    laps.end("print");
    {
      const module::Module back = module::parse_module(text);
      laps.end("parse");
      require(module::print_module(back) == text, "the texts differ");
    }
    laps.end("print again");
  });
}
