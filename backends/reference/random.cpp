// Philox 4x32-10 of Random123, with counter and key as RandomUniform's definition lays them out.
#include "backends/reference/interpretation.h"

#include "core/ops/convert.h"

#include <Random123/philox.h>

namespace kiln::reference {
namespace {

std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

double uniform(DType dtype, std::uint32_t r0, std::uint32_t r1) {
  switch (dtype) {
    case DType::Float64:
      return static_cast<double>(((std::uint64_t{r0} << 32) | r1) >> 11) * 0x1p-53;
    case DType::Float16: return (r0 >> 21) * 0x1p-11;
    case DType::BFloat16: return (r0 >> 24) * 0x1p-8;
    default: return (r0 >> 8) * 0x1p-24;
  }
}

}  // namespace

Results run_random(const Context& c) {
  const auto& attrs = c.as<ir::RandomAttrs>();
  std::int64_t position = 0;
  ir::load_signed(DType::Int64, c.x[0].data.get(), &position, 1);
  const auto draw = static_cast<std::uint64_t>(position);
  const std::uint64_t seed = static_cast<std::uint64_t>(attrs.seed) ^ c.run.seed;
  const auto stream = static_cast<std::uint64_t>(attrs.stream);
  const std::size_t first = stream % 2 == 0 ? 0 : 2;
  r123::Philox4x32 philox;
  const r123::Philox4x32::key_type key = {{low(seed), high(seed)}};
  Tensor y = c.result();
  std::vector<double> values(static_cast<std::size_t>(y.count));
  for (std::int64_t i = 0; i < y.count; ++i) {
    const auto element = static_cast<std::uint64_t>(i);
    const r123::Philox4x32::ctr_type counter = {{low(element),
                                                 high(element) ^ low(c.run.call_counter), low(draw),
                                                 high(draw) ^ low(stream >> 1)}};
    const auto drawn = philox(counter, key);
    values[element] = uniform(y.dtype, drawn[first], drawn[first + 1]);
  }
  ir::store_floating(y.dtype, values.data(), y.data.get(), y.count);
  return {y};
}

}  // namespace kiln::reference
