// Tests results so large that a backend may write them past the caches.
#include "tests/support/catch.h"

#include <kiln/k.h>

using namespace kiln;

TEST_CASE("large results: elementwise results are complete at any address") {
  const std::int64_t count = (std::int64_t{5} << 20) + 13;
  const Tensor x = placeholder({.shape = {count}, .name = "x"});
  const Function f = function({x}, {x * 2.0 + 1.0, x - 1.0});
  std::vector<float> in(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 1000);
  const Array fed = Array::view(in.data(), {count});
  const std::vector<Array> out = f({fed});
  // One element further: aligned for a float, not for a vector.
  std::vector<float> first(in.size() + 1), second(in.size() + 1);
  const std::vector<std::int64_t> dims{count};
  const ArrayView input = fed.as_view();
  const MutableArrayView results[] = {{DType::Float32, first.data() + 1, dims},
                                      {DType::Float32, second.data() + 1, dims}};
  f.call_into({&input, 1}, results);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const float twice = in[i] * 2 + 1, less = in[i] - 1;
    wrong += out[0].as<float>()[i] != twice || out[1].as<float>()[i] != less;
    wrong += first[i + 1] != twice || second[i + 1] != less;
  }
  CHECK(wrong == 0);
}
