// Flattens the sizes of all inputs to the key of the cache.
#include "backends/codegen/bind/sized_cache.h"

namespace kiln::codegen {

std::vector<std::int64_t> flattened(const InputSizes& sizes) {
  std::size_t axes = 0;
  for (const sdk::Dims dims : sizes) axes += dims.size();
  std::vector<std::int64_t> flat;
  flat.reserve(axes);
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

std::uint64_t hash_of(const InputSizes& sizes) {
  std::uint64_t hash = 0;
  for (const sdk::Dims dims : sizes) {
    for (const std::int64_t size : dims) {
      hash = (hash ^ static_cast<std::uint64_t>(size)) * 0x9e3779b97f4a7c15ull;
      hash ^= hash >> 32;
    }
  }
  return hash;
}

}  // namespace kiln::codegen
