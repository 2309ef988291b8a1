// Runs graphs on the backend under test through the module's bytes, as compiled functions do.
#include "tests/core/ops/evaluate.h"

#include "core/module/module.h"
#include "core/module/read.h"
#include "core/module/write.h"
#include "core/ops/build.h"
#include "core/passes/pipeline.h"
#include "core/types/text.h"
#include "runtime/function/call.h"

#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>

namespace kiln::test {

ir::Value placeholder(const ir::Type& type, const std::string& name) {
  return ir::make(ir::Op::Placeholder, ir::PlaceholderAttrs{module::fresh_id(), name, type}, {});
}

ir::Type type_of(const Array& array) {
  return {array.dtype(), ir::Dims(array.dims().begin(), array.dims().end())};
}

std::string tested_backend() {
  const char* chosen = std::getenv("KILN_TEST_BACKEND");
  return chosen && *chosen ? chosen : "reference";
}

namespace {

/// Compiles a graph, or returns what an equal one was compiled to: rows of a table often differ in
/// their feeds alone.
std::shared_ptr<const runtime::Executable> compiled(const runtime::InstancePtr& instance,
                                                    const ir::Graph& graph) {
  using Known = std::map<std::string, std::shared_ptr<const runtime::Executable>>;
  static Known& known = *new Known;  // never destroyed: its backends may end before
  constexpr std::size_t kMaxKnown = 1000;
  const module::Module whole = module::make_module(graph);
  const module::Encoded encoded = module::write_module(whole);
  runtime::CompileRequest request;
  request.module = encoded.bytes;
  std::string key = text(static_cast<const void*>(instance.get()), "\n");
  key.append(reinterpret_cast<const char*>(encoded.bytes.data()), encoded.bytes.size());
  for (const auto& side : encoded.constants) {
    request.constants.push_back({side.data, side.size});
    key.append(reinterpret_cast<const char*>(side.data), side.size);
  }
  if (known.size() == kMaxKnown) known.clear();
  auto& executable = known[key];
  if (executable == nullptr) {
    executable = std::make_shared<const runtime::Executable>(instance->compile(request));
  }
  return executable;
}

}  // namespace

std::vector<Array> evaluate(const std::vector<ir::Value>& parameters,
                            const std::vector<ir::Value>& results, const std::vector<Array>& feeds,
                            const std::string& backend, bool optimise) {
  ir::Graph graph;
  ir::Replacements map;
  for (const ir::Value& parameter : parameters) {
    graph.inputs.push_back(placeholder(parameter.type()));
    map.emplace(parameter, graph.inputs.back());
  }
  graph.outputs = ir::replace_values(results, map);
  if (optimise) graph = passes::run_pipeline(graph);
  const runtime::InstancePtr instance = runtime::backend_instance(backend);
  const auto executable = compiled(instance, graph);
  std::vector<runtime::Buffer> inputs, outputs(results.size());
  std::vector<const runtime::Buffer*> pointers;
  for (const Array& feed : feeds) {
    inputs.push_back(instance->import_copy(feed.data(), feed.dtype(), feed.dims()));
  }
  for (const runtime::Buffer& input : inputs) pointers.push_back(&input);
  runtime::ExecuteCall call;
  call.inputs = pointers;
  call.outputs = outputs;
  executable->execute(call).wait();
  std::vector<Array> arrays;
  for (const runtime::Buffer& output : outputs) {
    Array array = Array::zeros(output.dims(), output.dtype());
    output.copy_to_host({static_cast<std::byte*>(array.data()), array.bytes()});
    arrays.push_back(std::move(array));
  }
  return arrays;
}

Array random_array(std::mt19937_64& generator, const ir::Type& type, double low, double high) {
  std::vector<std::int64_t> dims;
  for (const ir::Dim& dim : type.dims) dims.push_back(dim.value());
  Array array = Array::zeros(dims, DType::Float64);
  for (double& element : array.as<double>()) {
    element = low + (high - low) * static_cast<double>(generator() >> 11) * 0x1p-53;
  }
  return array.astype(type.dtype);
}

std::vector<double> doubles(const Array& array) {
  const Array wide = array.astype(DType::Float64);
  const auto elements = wide.as<double>();
  return {elements.begin(), elements.end()};
}

std::string difference(const Array& a, const Array& b, double relative, double absolute) {
  if (a.dims() != b.dims() || a.dtype() != b.dtype()) {
    return text(a.dtype(), "[", join_text(a.dims(), ","), "] and ", b.dtype(), "[",
                join_text(b.dims(), ","), "]");
  }
  const std::vector<double> x = doubles(a), y = doubles(b);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i]) && std::isnan(y[i])) continue;
    if (x[i] == y[i]) continue;
    if (!(std::fabs(x[i] - y[i]) <= absolute + relative * std::fabs(y[i]))) {
      return text("element ", i, ": ", x[i], " and ", y[i]);
    }
  }
  return "";
}

}  // namespace kiln::test
