// Parts are copies of rows, so that they are aligned as whole tensors are.
#include "runtime/host/shard_functions.h"

#include "core/k/base/call.h"
#include "core/ops/shard_payload.h"
#include "core/types/text.h"

#include <cstddef>
#include <cstdint>

namespace kiln::runtime {
std::vector<Array> shard(std::string_view payload, std::span<const Array> inputs) {
  const auto [part, count] = ir::decode_shard(payload).value();
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
