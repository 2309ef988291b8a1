// Flattens the sizes of all inputs to the key of the cache.
#include "backends/codegen/bind/sized_cache.h"

namespace kiln::codegen {

std::vector<std::int64_t> flattened(const InputSizes& sizes) {
  std::vector<std::int64_t> flat;
  for (const sdk::Dims dims : sizes) flat.insert(flat.end(), dims.begin(), dims.end());
  return flat;
}

bool is_flattened(const std::vector<std::int64_t>& flat, const InputSizes& sizes) {
  std::size_t next = 0;
  for (const sdk::Dims dims : sizes) {
    for (const std::int64_t size : dims) {
      if (flat[next++] != size) return false;
    }
  }
  return true;
}

}  // namespace kiln::codegen
