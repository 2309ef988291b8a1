// Includes the macros of X11's headers before Kiln's headers.
#include "tests/support/catch.h"

#define None 0L
#define Bool int
#define Status int
#define True 1
#define False 0
#define Success 0
#define Always 2
#define Above 0
#define Below 1
#define Complex 0
#define Unsorted 0
#define Absolute 1
#define Relative 0
#define Expose 12
#include <kiln/k.h>

static_assert(None == 0L);
static_assert(sizeof(Bool) == sizeof(int));

namespace K = kiln;

TEST_CASE("X11: its macros keep their values, and K has other names for those that they hide") {
  const K::Tensor x = K::placeholder({.shape = {K::NoneType(0), 2}, .dtype = "float32"});
  const K::Tensor is_positive = K::cast(K::sum(x), "bool");
  const K::Function f = K::function({x}, {is_positive});
  CHECK(f({K::Array{{1.f, 2.f}, {3.f, 4.f}}})[0].as<bool>()[0]);
  CHECK_FALSE(f({K::Array::zeros({0, 2})})[0].as<bool>()[0]);
}
