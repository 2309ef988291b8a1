// A sparse input is the matrix's indices, its values and an empty array of its shape.
#include "runtime/function/call_inputs.h"

#include "core/types/text.h"
#include "runtime/array/host_values.h"
#include "runtime/host/error_subject.h"

#include <kiln/error.h>

namespace kiln::runtime {

Array converted(const CompiledProgram& program, std::size_t i, const Array& array,
                const char* part) {
  const auto reject = [&](const UnrepresentableElement& element) {
    throw ValueError(program.name, program.binding.name(i),
                     text(program.binding.describe(i), " was fed ", element.value,
                          element.index.empty() ? "" : text(" at ", part), element.index,
                          ", which ", element.dtype, " cannot hold"));
  };
  const RunningCall running(program.name);
  return with_memory_subject(
      [&] { return program.binding.describe(i); },
      [&] { return cast_host_value(array, program.binding.type(i).dtype, reject); });
}

void add_parts(const CompiledProgram& program, const SparseArray& sparse, CallInputs& arrays) {
  const std::size_t values = arrays.size() + 1;
  arrays.add(sparse.indices());
  if (sparse.values().dtype() == program.binding.type(values).dtype) {
    arrays.add(sparse.values());
  } else {
    arrays.add(converted(program, values, sparse.values(), "values"));
  }
  arrays.add(Array::zeros({sparse.dims()[0], sparse.dims()[1], 0}, DType::Bool));
}

void add_parts(const CompiledProgram& program, const Array& dense, std::size_t feed,
               CallInputs& arrays) {
  if (dense.rank() != 2) {
    throw ValueError(program.name, "inputs",
                     text("inputs[", feed, "] is a sparse matrix but was fed an array of shape [",
                          join_text(dense.dims(), ","), "]"));
  }
  const std::size_t values = arrays.size() + 1;
  const bool fits = dense.dtype() == program.binding.type(values).dtype;
  SparseArray sparse = SparseArray::of_dense(fits ? dense : converted(program, values, dense));
  arrays.add(Array(sparse.indices()));
  arrays.add(Array(sparse.values()));
  arrays.add(Array::zeros({sparse.dims()[0], sparse.dims()[1], 0}, DType::Bool));
}

}  // namespace kiln::runtime
