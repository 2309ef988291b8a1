// Tests which ISA a processor gets: none with an instruction that the processor lacks.
#include "tests/support/catch.h"

#include "backends/cpu/schedule/target.h"

using namespace kiln::cpu;

namespace {

Processor with_everything() {
  return {true, true, true, true, true, true, true, true, true, true, true, true};
}

}  // namespace

TEST_CASE("ISA: one missing instruction set selects a lower ISA") {
  CHECK(isa_of(with_everything()) == Isa::Avx512);
  CHECK(isa_of(Processor()) == Isa::Baseline);
  for (bool Processor::* feature :
       {&Processor::avx2, &Processor::fma, &Processor::f16c, &Processor::bmi, &Processor::bmi2,
        &Processor::lzcnt, &Processor::movbe}) {
    Processor lacking = with_everything();
    lacking.*feature = false;
    CHECK(isa_of(lacking) == Isa::Baseline);
  }
  for (bool Processor::* feature : {&Processor::avx512f, &Processor::avx512cd, &Processor::avx512dq,
                                    &Processor::avx512bw, &Processor::avx512vl}) {
    Processor lacking = with_everything();
    lacking.*feature = false;
    CHECK(isa_of(lacking) == Isa::Avx2);
  }
}
