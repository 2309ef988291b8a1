// Ranks that train, each a process on the fake communicator, as programs use <kiln/distributed.h>.
#pragma once

#include <kiln/distributed.h>
#include <kiln/train.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace kiln::testing {

/// A number of ranks: one process that no launcher started.
inline constexpr std::uint32_t kAlone = 0;

/// Runs the function in that many ranks, which have joined their group and use the backend. Returns
/// the text of each; that of one which ends otherwise begins with "exit status".
std::vector<std::string> texts_of_ranks(
    std::uint32_t ranks, const std::string& backend,
    const std::function<std::string(const distributed::Session& world)>& function);

/// The text of the Error that the call throws, without its function, and with places as
/// "train.cpp:N"; "accepted" if it throws none.
std::string error_of(const std::function<void()>& call);

/// "name hash of the bits" of each variable, a line each.
std::string bits_of(const std::vector<Tensor>& variables);

/// Rows [begin, end) of the inputs of a step, float32 (rows, sample..), equal for all ranks.
Array rows_of_step(std::int64_t step, std::int64_t begin, std::int64_t end,
                   std::vector<std::int64_t> sample);

}  // namespace kiln::testing
