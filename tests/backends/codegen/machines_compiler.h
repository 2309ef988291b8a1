// Opens the machine's NVRTC, for tests of its machine code.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cuda/api/open_compiler.h"
#include "tests/support/catch.h"

#include <memory>

namespace kiln::test {

/// Null, with a warning that says why, where no NVRTC can be opened.
inline std::shared_ptr<const cuda::api::Compiler> machines_compiler() {
  cuda::api::Messages messages;
  try {
    return cuda::api::open_compiler({}, messages);
  } catch (const sdk::Failure& failure) {
    WARN("left out: " << failure.what());
    return nullptr;
  }
}

}  // namespace kiln::test
