// Collectives whose payload does not fit their operands, the plan or the group are errors that name
// both values: the backend writes no memory by them.
#include "tests/backends/cuda/fresh_backend.h"
#include "tests/support/catch.h"
#include "tests/support/error_text.h"

#include "core/module/module.h"
#include "core/module/write.h"
#include "core/ops/build.h"
#include "core/ops/collective_payload.h"
#include "runtime/plugin/backend_instance.h"

#include <kiln/error.h>

#include <functional>

using namespace kiln;

namespace {

using ir::CollectiveKind;

ir::Value call_host(const char* function, const ir::CollectivePayload& payload,
                    std::vector<ir::Value> operands, std::vector<ir::Type> results) {
  return ir::make(
      ir::Op::HostCall,
      ir::HostCallAttrs{
          .function = function, .payload = ir::encode(payload), .results = std::move(results)},
      std::move(operands));
}

/// A collective of operands that are each float32[4], and its results.
struct CollectiveRow {
  std::string text;  // of the error
  ir::CollectivePayload start, wait;
  std::size_t operands = 1;
  std::int64_t result = 4;
};

std::string error_of(const std::string& backend, const CollectiveRow& row) {
  const ir::Value x =
      ir::make(ir::Op::Variable, ir::VariableAttrs{1 << 20, "x", {DType::Float32, {4}}, {}}, {});
  std::vector<ir::Value> operands{ir::scalar_constant_int(DType::Int64, 0)};
  for (std::size_t i = 0; i < row.operands; ++i) operands.push_back(x);
  const ir::Value position =
      call_host("collective_start", row.start, operands, {{DType::Int64, {}}});
  ir::Graph graph;
  graph.outputs = {
      call_host("collective_wait", row.wait, {position}, {{DType::Float32, {row.result}}})};
  const module::Encoded encoded = module::write_module(module::make_module(graph));
  const runtime::InstancePtr instance = runtime::backend_instance(backend);
  runtime::CompileRequest request;
  request.module = encoded.bytes;
  const runtime::Executable executable = instance->compile(request);
  const std::vector<float> elements{1, 2, 3, 4};
  const std::vector<std::int64_t> dims{4};
  const runtime::Buffer buffer = instance->import_copy(elements.data(), DType::Float32, dims);
  const runtime::StateInput input{&buffer, false, 0};
  std::vector<runtime::Buffer> outputs(1);
  runtime::ExecuteCall call;
  if (row.operands != 0) call.states = {&input, 1};
  call.outputs = outputs;
  return testing::error_text<Error>([&] { executable.execute(call).wait(); });
}

ir::CollectivePayload payload(std::int64_t number, CollectiveKind kind, std::int64_t axis = 0,
                              std::int64_t ranks = 4) {
  ir::CollectivePayload made;
  made.number = number;
  made.attrs.kind = kind;
  made.attrs.axis = axis;
  made.attrs.ranks = ranks;
  return made;
}

}  // namespace

TEST_CASE("unfit collectives: a payload that does not fit is an error") {
  cuda_test::control().reset();
  const cuda_test::FreshBackend backend(KILN_BINARY_DIR);
  const auto sum = payload(0, CollectiveKind::AllReduce);
  const auto gather = payload(0, CollectiveKind::AllGather);
  const auto gather_of_axis_1 = payload(0, CollectiveKind::AllGather, 1);
  const auto scatter_to_3 = payload(0, CollectiveKind::ReduceScatter, 0, 3);
  const CollectiveRow rows[] = {
      {"waits for number 1, but 1 have started", sum, payload(1, CollectiveKind::AllReduce)},
      {"collective 1 is out of its order", payload(1, CollectiveKind::AllReduce), sum},
      {"has no operands", sum, sum, 0},
      {"has 2 operands, but its kind takes one", gather, gather, 2},
      {"has axis 1, but its operand has 1 axes", gather_of_axis_1, gather_of_axis_1},
      {"divides axis 0 of size 4 by 3 ranks", scatter_to_3, scatter_to_3},
      {"gives 64 bytes, but its results have 16", gather, gather},
      {"gives 16 bytes, but its results have 20", sum, sum, 1, 5},
      {"the collective of host_call has 4 ranks, but group 0 has 1", sum, sum}};
  for (const CollectiveRow& row : rows) {
    CHECK_THAT(error_of(backend.path(), row), Catch::Matchers::ContainsSubstring(row.text));
  }
}
