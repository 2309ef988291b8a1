// The backend writes every element, so results are not initialised here.
#include "runtime/function/call_results.h"

#include "runtime/array/array_memory.h"
#include "runtime/host/error_subject.h"

namespace kiln::runtime {

namespace {

/// Allocates output `i` without initialising it. OutOfMemory names the output.
Array uninitialised_result(const CompiledProgram& program, std::size_t i,
                           std::span<const std::int64_t> dims) {
  return with_memory_subject([&] { return describe_output(program, i); }, [&] {
    return uninitialised_array({dims.begin(), dims.end()}, program.graph.outputs[i].dtype());
  });
}

}  // namespace

std::vector<Array> bind_results(const CompiledProgram& program, PreparedCall& prepared) {
  const std::vector<ir::Value>& outputs = program.graph.outputs;
  std::vector<Array> results;
  results.reserve(outputs.size());
  std::vector<MutableArrayView>& views = prepared.result_views;
  views.clear();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Dims dims = prepared.output_dims(i);
    results.push_back(uninitialised_result(program, i, dims));
    views.push_back({outputs[i].dtype(), fill_address(results.back()), dims});
  }
  prepared.bind_outputs(views);
  return results;
}

Array to_result(const CompiledProgram& program, std::size_t i, const Buffer& buffer) {
  Array array = uninitialised_result(program, i, buffer.dims());
  buffer.copy_to_host({static_cast<std::byte*>(fill_address(array)), array.bytes()});
  return array;
}

}  // namespace kiln::runtime
