// Parts are copies of rows, so that they are aligned as whole tensors are.
#include "runtime/host/shard_functions.h"

#include "core/k/base/call.h"
#include "core/types/text.h"

#include <charconv>
#include <cstddef>
#include <cstdint>

namespace kiln::runtime {
namespace {

/// "j n".
std::pair<std::int64_t, std::int64_t> part_and_count(std::string_view payload) {
  std::int64_t part = 0, count = 1;
  const char* end = payload.data() + payload.size();
  const auto first = std::from_chars(payload.data(), end, part);
  if (first.ptr != end) std::from_chars(first.ptr + 1, end, count);
  return {part, count};
}

}  // namespace

std::vector<Array> shard(std::string_view payload, std::span<const Array> inputs) {
  const auto [part, count] = part_and_count(payload);
  std::vector<Array> parts;
  for (const Array& input : inputs) {
    std::vector<std::int64_t> dims(input.dims().begin(), input.dims().end());
    if (dims[0] % count != 0) {
      Call::value_error("shards", text(dims[0], " rows are not a multiple of the ", count,
                                       " shards of this process"));
    }
    dims[0] /= count;
    const std::size_t bytes = input.bytes() / static_cast<std::size_t>(count);
    const auto* from = static_cast<const std::byte*>(input.data());
    parts.push_back(
        Array::copy_of(from + static_cast<std::size_t>(part) * bytes, dims, input.dtype()));
  }
  return parts;
}

std::vector<Array> shard_results(std::string_view, std::span<const Array> inputs) {
  std::vector<Array> results(inputs.begin(), inputs.end());
  results.push_back(Array::full({}, 0, DType::Int64));
  return results;
}

bool is_shard_function(std::string_view name) { return name == "shard" || name == "shard_results"; }

}  // namespace kiln::runtime
