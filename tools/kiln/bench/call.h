// A compiled function with the memory of its inputs and outputs: what a row calls.
#pragma once

#include <kiln/k.h>

#include <functional>
#include <vector>

namespace kiln::bench {

/// Dims with floats drawn evenly from [low, high), the same ones each time.
Array drawn(const std::vector<std::int64_t>& dims, double low = -1, double high = 1);
/// Dims with whole numbers drawn from [0, classes).
Array drawn_classes(const std::vector<std::int64_t>& dims, std::int64_t classes);

/// Compiles it, calls it once to learn the shapes of its outputs, and gives a call through
/// call_into without any allocation by the caller.
std::function<void()> call_of(const std::vector<Tensor>& placeholders,
                              const std::vector<Tensor>& outputs,
                              const std::vector<UpdateOp>& updates, std::vector<Array> inputs);

}  // namespace kiln::bench
