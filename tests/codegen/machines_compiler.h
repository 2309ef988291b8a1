// The NVRTC of the machine, for tests of what it makes of a text.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cuda/api/open_compiler.h"
#include "tests/catch.h"

#include <memory>

namespace kiln::test {

/// Null, with a warning that says why, where no NVRTC can be opened.
inline std::shared_ptr<const cuda::api::Compiler> machines_compiler() {
  cuda::api::Facts facts;
  try {
    return cuda::api::open_compiler({}, facts);
  } catch (const sdk::Failure& failure) {
    WARN("left out: " << failure.what());
    return nullptr;
  }
}

}  // namespace kiln::test
