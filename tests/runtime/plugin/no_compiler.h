// An instance of a fake plugin that compiles nothing.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"

namespace {

class NoCompiler : public kiln::sdk::Instance {
 public:
  std::vector<kiln::sdk::OpSupport> op_table() const override { return {}; }
  std::vector<kiln::sdk::Unsupported> check(kiln::sdk::Bytes) const override { return {}; }
  std::unique_ptr<kiln::sdk::Executable> compile(const kiln::sdk::CompileRequest&) override {
    throw kiln::sdk::Failure(KILN_CODE_UNIMPLEMENTED, "nothing to compile with");
  }
};

}  // namespace
