// The backend writes every element, so results are not initialised here.
#include "runtime/function/call_results.h"

#include "runtime/array/array_memory.h"
#include "runtime/host/error_subject.h"

namespace kiln::runtime {

std::vector<Array> bind_results(const CompiledProgram& program, PreparedCall& prepared) {
  const std::span<const UninitialisedArray> types = prepared.output_types();
  std::vector<Array> results;
  results.reserve(types.size());
  with_memory_subject([&] { return describe_output(program, results.size()); },
                      [&] {
                        for (std::size_t i = 0; i < types.size(); ++i) {
      // The non-const data() would make later copies deep.
                          const Array& result = results.emplace_back(types[i]);
                          prepared.bind_output(i, const_cast<void*>(result.data()));
                        }
                      });
  return results;
}

Array to_result(const CompiledProgram& program, std::size_t i, const Buffer& buffer) {
  Array array = with_memory_subject(
      [&] { return describe_output(program, i); },
      [&] { return uninitialised_array(buffer.dims(), program.graph.outputs[i].dtype()); });
  buffer.copy_to_host({static_cast<std::byte*>(fill_address(array)), array.bytes()});
  return array;
}

}  // namespace kiln::runtime
