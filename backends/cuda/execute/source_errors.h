// Adds the source line to errors of the libraries.
#pragma once

#include "backends/codegen/inspect/source.h"
#include "backends/cuda/api/api_failure.h"

namespace kiln::cuda {

/// Returns call(). An sdk::Failure that it throws gets the source line of the node.
template <class Call>
auto with_source(const ir::Node& node, const Call& call) {
  try {
    return call();
  } catch (const sdk::Failure& failure) {
    throw sdk::Failure(failure.code(), failure.what() + (" (" + codegen::source_of(node) + ")"))
        .native(failure.native_library, failure.native_code);
  }
}

}  // namespace kiln::cuda
