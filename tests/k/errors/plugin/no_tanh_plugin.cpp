// A backend that lacks an op: it rejects every tanh of a program. It runs no other op either.
#include "backends/abi/kiln_backend_sdk.h"
#include "core/ir/traverse.h"
#include "core/module/read.h"
#include "core/ops/op.h"
#include "core/types/text.h"

namespace kiln::test {
namespace {

class NoTanh final : public sdk::Instance {
 public:
  std::vector<sdk::OpSupport> op_table() const override { return {}; }

  std::vector<sdk::Unsupported> check(sdk::Bytes bytes) const override {
    const module::Module program = module::read_module(bytes);
    std::vector<sdk::Unsupported> lacking;
    for (const ir::Node* node : ir::topological_order(program.graph.roots())) {
      if (node->op != ir::Op::Tanh) continue;
      const Where where = node->origin.where;
      lacking.push_back({lacking.size(), "tanh", "no hyperbolic functions here",
                         text(where.file, ":", where.line)});
    }
    return lacking;
  }

  std::unique_ptr<sdk::Executable> compile(const sdk::CompileRequest&) override {
    throw sdk::Failure(KILN_CODE_UNAVAILABLE, "its compiler is not there");
  }
};

std::unique_ptr<sdk::Instance> create(const sdk::Options&, const sdk::Host&) {
  return std::make_unique<NoTanh>();
}

}  // namespace

extern constexpr sdk::Plugin kNoTanhPlugin{
    .name = "no_tanh",
    .version = KILN_VERSION,
    .build_id = "tests",
    .features = KILN_FEATURE_CONCURRENT_COMPILE,
    .create = create,
    .probe = nullptr,
};

}  // namespace kiln::test

KILN_BACKEND_ENTRY(kiln::test::kNoTanhPlugin)
