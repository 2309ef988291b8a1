// A backend that lacks ops: it rejects every tanh of a program with its line, every sin by its
// number, and, when it compiles, every cos by its number. It runs no other op either.
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
    for (const std::uint64_t number : numbers_of(program, ir::Op::Sin)) {
      lacking.push_back({number, "sin", "no circles here"});
    }
    return lacking;
  }

  std::unique_ptr<sdk::Executable> compile(const sdk::CompileRequest& request) override {
    const module::Module program = module::read_module(request.module);
    sdk::Failure failure(KILN_CODE_UNAVAILABLE, "its compiler is not there");
    for (const std::uint64_t number : numbers_of(program, ir::Op::Cos)) failure.node(number);
    throw failure;
  }

 private:
  static std::vector<std::uint64_t> numbers_of(const module::Module& program, ir::Op op) {
    std::vector<std::uint64_t> numbers;
    const auto order = ir::topological_order(program.written_roots());
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i]->op == op) numbers.push_back(i);
    }
    return numbers;
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
