// Which level a processor gets: none that asks for an instruction that it lacks.
#include "tests/catch.h"

#include "backends/cpu/llvm/target.h"

using namespace kiln::cpu;

namespace {

Processor with_everything() {
  return {true, true, true, true, true, true, true, true, true, true, true, true};
}

}  // namespace

TEST_CASE("one missing instruction set lowers the level") {
  CHECK(level_of(with_everything()) == IsaLevel::Avx512);
  CHECK(level_of(Processor()) == IsaLevel::Baseline);
  for (bool Processor::*feature :
       {&Processor::avx2, &Processor::fma, &Processor::f16c, &Processor::bmi, &Processor::bmi2,
        &Processor::lzcnt, &Processor::movbe}) {
    Processor lacking = with_everything();
    lacking.*feature = false;
    CHECK(level_of(lacking) == IsaLevel::Baseline);
  }
  for (bool Processor::*feature :
       {&Processor::avx512f, &Processor::avx512cd, &Processor::avx512dq, &Processor::avx512bw,
        &Processor::avx512vl}) {
    Processor lacking = with_everything();
    lacking.*feature = false;
    CHECK(level_of(lacking) == IsaLevel::Avx2);
  }
}
